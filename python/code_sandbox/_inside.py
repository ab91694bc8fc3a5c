"""Whether this process is a sandbox of the platform, where a tool just runs.

The platform's runner, which starts inside of a sandbox and calls the tool, says so by enter(). Nothing in the
environment can: whoever may set a variable in the agent's process could then make its tools run there.

What the runner needs of this package, all of it kept stable (an image may have another version than the platform):

    code_sandbox._inside.enter()
    code_sandbox._inside.tools()        of everything that has been imported: name, entrypoint, description, parameters
    code_sandbox._values.decode_arguments(function, arguments)      (args, kwargs), to be passed on as they are
    code_sandbox._values.encode_result(value)                       plain JSON data
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_inside = False


def enter() -> None:
    global _inside
    _inside = True


def is_inside() -> bool:
    return _inside


def tools() -> list[dict[str, Any]]:
    """The tools that the modules imported so far have declared, by name. TypeError if one cannot be described."""
    from . import _tool  # which imports this module

    return [declared.describe() for declared in _tool.declared_tools()]
