"""An exception as the agent's own process gets to know it."""

import builtins
import json
import os
import traceback

MESSAGE_CHARACTERS_MAX = 32 << 10
TRACEBACK_CHARACTERS_MAX = 64 << 10
RUNNER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OWN_MODULES = ("asyncio", "code_sandbox", "importlib")  # between the runner and the agent's code


def describe(problem):
    """The payload of FRAME_CALL_END for it."""
    kind = type(problem)
    is_builtin = getattr(builtins, kind.__name__, None) is kind
    error = {
        "type": kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}",
        "message": message_of(problem),
        "traceback": traceback_of(problem),
        "builtin": is_builtin,
    }
    return json.dumps({"error": error}).encode()


def bounded(text, most):
    return text if len(text) <= most else text[:most] + f" … ({len(text):,} characters)"


def clean(text):
    return text.encode("utf-8", "backslashreplace").decode()


def message_of(problem):
    try:
        return clean(bounded(str(problem), MESSAGE_CHARACTERS_MAX))
    except BaseException as another:
        return f"<its text cannot be had: {type(another).__name__}>"


def traceback_of(problem):
    """Without the runner's own part of it."""
    try:
        if len(str(problem)) > TRACEBACK_CHARACTERS_MAX:
            lines = ["Traceback (most recent call last):\n", *traceback.format_tb(agents_part(problem))]
            lines.append(f"{type(problem).__qualname__}: {message_of(problem)}\n")
        else:
            lines = traceback.TracebackException(type(problem), problem, agents_part(problem)).format()
        text = "".join(lines)
    except BaseException as another:
        return f"<it cannot be shown: {type(another).__name__}>\n"
    if len(text) > TRACEBACK_CHARACTERS_MAX:
        half = TRACEBACK_CHARACTERS_MAX // 2
        text = f"{text[:half]}\n  … {len(text) - 2 * half:,} characters …\n{text[-half:]}"
    return clean(text)


def agents_part(problem):
    frames = problem.__traceback__
    while frames is not None and is_own(frames.tb_frame):
        frames = frames.tb_next
    return frames


def is_own(frame):
    name = frame.f_globals.get("__name__") or ""
    return os.path.dirname(frame.f_code.co_filename).startswith(RUNNER) or name.partition(".")[0] in OWN_MODULES
