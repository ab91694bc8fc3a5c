"""@tool: a function that runs in a sandbox of the platform when it is called.

In the agent's own process the wrapper sends the call to the platform; in the sandbox, where the same module is
imported, it is the function. What decides is said in _inside.py and _settings.py; nothing ever falls back to running
here. Imports next to nothing; _plain says why.
"""

from __future__ import annotations

import functools
from _thread import allocate_lock

from . import _inside, _settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    F = TypeVar("F", bound=Callable[..., Any])

_FUNCTION = type(lambda: None)
_VARARGS, _VARKEYWORDS, _GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x04, 0x08, 0x20, 0x80, 0x200  # of inspect.CO_*
_NAME_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")

_lock = allocate_lock()
_declared: dict[tuple[str, str], Tool] = {}
_said_local = False


class Tool:
    """A declared function, as a model and the platform see it. `function` is the author's own."""

    def __init__(
        self, function: Callable[..., Any], name: str, description: str | None, timeout_s: float | None
    ) -> None:
        self.function = function
        self.name = name
        self.timeout_s = timeout_s
        self.entrypoint = f"{function.__module__}:{function.__qualname__}"
        self._description = description

    @property
    def description(self) -> str:
        from . import _schema

        return self._description if self._description is not None else _schema.description_of(self.function)

    @property
    def parameters(self) -> dict[str, Any]:
        from . import _schema

        return _schema.parameters_of(self.function)

    def describe(self) -> dict[str, Any]:
        """As the platform keeps it."""
        try:
            parameters = self.parameters
        except TypeError as problem:
            raise TypeError(f"The tool {self.name} ({self.entrypoint}) cannot be described: {problem}") from problem
        return {
            "name": self.name,
            "entrypoint": self.entrypoint,
            "description": self.description,
            "parameters": parameters,
        }


def declared_tools() -> list[Tool]:
    """By name. TypeError if two functions have one name."""
    found = sorted(_declared.copy().values(), key=lambda declared: declared.name)
    for one, other in zip(found, found[1:], strict=False):  # noqa: RUF007  itertools is one import more
        if one.name == other.name:
            raise TypeError(
                f"Two tools are called {one.name!r}: {one.entrypoint} and {other.entrypoint}. Give one another name: "
                '@tool(name="...").'
            )
    return found


def tool_of(function: Callable[..., Any]) -> Tool:
    """What was declared of a decorated function."""
    found = getattr(function, "__code_sandbox_tool__", None)
    if not isinstance(found, Tool):
        name = getattr(function, "__qualname__", function)
        raise TypeError(f"{name} is no tool: decorate it with @code_sandbox.tool.")
    return found


def _check(function: Any, name: str) -> None:
    """What could never be called from elsewhere is refused where it stands."""
    if not isinstance(function, _FUNCTION):
        raise TypeError("@tool belongs on a function; put it below @staticmethod, and not on classes or objects.")
    if "<" in function.__qualname__:
        raise TypeError(
            f"The tool {function.__qualname__} must be a function of a module, not a lambda and not inside of another "
            "function: the sandbox has to find it by importing the module."
        )
    while hasattr(function, "__wrapped__"):  # what other decorators have made of it says nothing
        function = function.__wrapped__
    code = function.__code__
    if code.co_flags & (_GENERATOR | _ASYNC_GENERATOR):
        raise TypeError(f"The tool {name} yields; a tool returns one value, such as a list.")
    if "." in function.__qualname__ and code.co_varnames[:1] in (("self",), ("cls",)):
        raise TypeError(f"The tool {name} is a method; its object exists in this process only. Make it a function.")
    if code.co_flags & (_VARARGS | _VARKEYWORDS):
        raise TypeError(f"The tool {name} takes *args or **kwargs; each argument of a tool needs a name of its own.")
    if not 1 <= len(name) <= 64 or not _NAME_LETTERS.issuperset(name):
        raise TypeError(f"The name of a tool must be 1 to 64 letters, digits, _ and -, not {name!r}.")


def _say_local() -> None:
    global _said_local
    with _lock:
        said, _said_local = _said_local, True
    if not said:
        import logging

        logging.getLogger("code_sandbox").warning(
            "None of the CODE_SANDBOX_* variables is set: tools run in this process, without a sandbox."
        )


def _platform() -> _settings.Settings | None:
    """None if the function is to be called as it is: in a sandbox, or where no platform is meant to be."""
    if _inside.is_inside():
        return None
    settings = _settings.load()
    if settings is None:
        _say_local()
    return settings


def _wrap(declared: Tool) -> Callable[..., Any]:
    function = declared.function
    if function.__code__.co_flags & _COROUTINE:

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            settings = _platform()
            if settings is None:
                return await function(*args, **kwargs)
            from . import _remote

            return await _remote.call_async(settings, declared.name, function, args, kwargs, declared.timeout_s)

        return call_async

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        settings = _platform()
        if settings is None:
            return function(*args, **kwargs)
        from . import _remote

        return _remote.call(settings, declared.name, function, args, kwargs, declared.timeout_s)

    return call


if TYPE_CHECKING:

    @overload
    def tool(function: F, /) -> F: ...

    @overload
    def tool(
        *, name: str | None = None, description: str | None = None, timeout_s: float | None = None
    ) -> Callable[[F], F]: ...


def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_s: float | None = None,
) -> Any:
    """
    Makes a function a tool. It is called as ever; where it runs is the platform's business.

        @tool
        def find_order(number: int) -> Order: ...

        @tool(timeout_s=90)
        async def search(text: str) -> list[str]: ...

    Name, description and parameters are those of the function, its docstring and its annotations.
    """

    def decorate(function: Any) -> Any:
        tool_name = name if name is not None else getattr(function, "__name__", "")
        _check(function, tool_name)
        declared = Tool(function, tool_name, description, timeout_s)
        wrapper = _wrap(declared)
        wrapper.__code_sandbox_tool__ = declared  # type: ignore[attr-defined]
        _declared[(function.__module__, function.__qualname__)] = declared
        return wrapper

    return decorate if function is None else decorate(function)
