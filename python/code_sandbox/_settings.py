"""Where the platform is, from the environment of the agent's process."""

from __future__ import annotations

import os

from ._errors import ToolError

PREFIX = "CODE_SANDBOX_"
NAMES = ("CODE_SANDBOX_URL", "CODE_SANDBOX_KEY", "CODE_SANDBOX_AGENT")


class Settings:
    def __init__(self, url: str, key: str, agent: str) -> None:
        self.url = url
        self.key = key
        self.agent = agent


def load() -> Settings | None:
    """
    None if nothing at all is set, so that code can be tried without a platform. A ToolError if some of it is: then
    somebody wanted tools to run in sandboxes, and to run them here would be the opposite.
    """
    present = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    if not present:
        return None
    missing = [name for name in NAMES if not present.get(name)]
    if missing:
        raise ToolError(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set, but "
            f"{', '.join(sorted(present))} {'is' if len(present) == 1 else 'are'}: set all of "
            f"{', '.join(NAMES)}, or none to run tools in this process."
        )
    return Settings(*(present[name] for name in NAMES))
