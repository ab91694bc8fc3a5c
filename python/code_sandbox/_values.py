"""The mapping of values, as a whole: what the runner in the sandbox and the agent's process call.

Imports what it needs when it does; _plain says why.
"""

from __future__ import annotations

from ._plain import fits, is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _author_s(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function below its decorators, as inspect.unwrap() gives it."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def encode_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a call by name, as plain JSON data. TypeError as of the call itself, or with the place."""
    import inspect

    from ._encode import encode

    bound = inspect.signature(function).bind(*args, **kwargs)
    return {name: encode(value, name) for name, value in bound.arguments.items()}


def decode_arguments(function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(args, kwargs) to call the function with. TypeError names the argument that is missing, unknown or unfit."""
    if fits(_author_s(function), arguments):
        return (), arguments
    import inspect
    from typing import Any

    from ._decode import decode, parameter_hints_of

    hints = parameter_hints_of(_author_s(function))
    parameters = inspect.signature(function).parameters
    for name in arguments:
        if name not in parameters:
            raise TypeError(f"{name} is unknown; the arguments are: {', '.join(parameters) or 'none'}.")
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name not in arguments:
            if parameter.default is inspect.Parameter.empty:
                raise TypeError(f"{name} is missing.")
            value = parameter.default
        else:
            value = decode(arguments[name], hints.get(name, Any), name)
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            args.append(value)
        elif name in arguments:
            kwargs[name] = value
    return tuple(args), kwargs


def encode_result(value: Any) -> Any:
    """What a tool has returned, as plain JSON data. TypeError names the place of what has no form in it."""
    if is_plain(value):
        return value
    from ._encode import encode

    return encode(value, "the result")


def decode_result(function: Callable[..., Any], value: Any) -> Any:
    """
    A result as the function's annotation says. Python does not hold a function to its annotation, and nor is it here:
    a result that does not fit comes back as the JSON that it is.
    """
    from typing import Any

    from ._decode import NoForm, Unfit, decode, hints_of

    try:
        return decode(value, hints_of(_author_s(function)).get("return", Any), "the result")
    except (Unfit, NoForm):
        return value
