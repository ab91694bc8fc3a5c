"""JSON Schema of a function's parameters, from its annotations and its docstring.

Runs in the agent's process, and in the sandbox that discovers tools. Draft 2020-12, of the part that APIs of models
take. Classes are written where they are used; only pydantic's own come as $defs.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import numbers
import typing
from collections.abc import Callable
from typing import Any

from . import _docstring
from ._decode import (
    _NOTHING,
    _UNIONS,
    MAPPINGS,
    SEQUENCES,
    SETS,
    NoForm,
    hints_of,
    name_of,
    parameter_hints_of,
    unwrapped,
)
from ._encode import encode
from ._scalars import is_named_tuple, is_numpy_scalar, is_pydantic, scalar_of

Schema = dict[str, Any]

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class _Writer:
    def __init__(self) -> None:
        self.definitions: Schema = {}
        self._open: list[Any] = []  # classes that we are in the middle of

    def of(self, kind: Any, where: str) -> Schema:
        """Schema of one annotation. An Annotated[..., "text"] around it is its description."""
        described = _description_of(kind)
        schema = self._of(unwrapped(kind), where)
        return {**schema, "description": described} if described else schema

    def _of(self, kind: Any, where: str) -> Schema:
        if kind in _NOTHING:
            return {}
        origin, kinds = typing.get_origin(kind), typing.get_args(kind)
        if kind is None:
            return {"type": "null"}
        if origin in _UNIONS:
            return {"anyOf": [self.of(each, where) for each in kinds]}
        if origin is typing.Literal:
            return _choices(kinds, where)
        if (origin or kind) is tuple:
            return self._tuple(kinds, where)
        if (origin or kind) in SEQUENCES:
            unique = {"uniqueItems": True} if (origin or kind) in SETS else {}
            return {"type": "array", **({"items": self.of(kinds[0], where)} if kinds else {}), **unique}
        if (origin or kind) in MAPPINGS:
            values = self.of(kinds[1], where) if len(kinds) == 2 else {}
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        return self._class(origin or kind, where)

    def _tuple(self, kinds: tuple[Any, ...], where: str) -> Schema:
        if not kinds:
            return {"type": "array"}
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            return {"type": "array", "items": self.of(kinds[0], where)}
        return {
            "type": "array",
            "prefixItems": [self.of(kind, where) for kind in kinds],
            "minItems": len(kinds),
            "maxItems": len(kinds),
        }

    def _class(self, kind: Any, where: str) -> Schema:
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return _choices(tuple(kind), where)
        if is_numpy_scalar(kind):
            return {"type": _numpy_type(kind)}
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if is_pydantic(kind):
            return self._pydantic(kind)
        if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind) or is_named_tuple(kind):
            return self._members(kind, where)
        scalar = scalar_of(kind)
        if scalar is None:
            raise NoForm(
                f"The type {name_of(kind)} of {where} has no form in JSON: use plain data, a dataclass or a "
                "pydantic model."
            )
        return dict(scalar.schema)

    def _pydantic(self, kind: Any) -> Schema:
        if hasattr(kind, "model_json_schema"):
            schema: Schema = dict(kind.model_json_schema(ref_template="#/$defs/{model}"))
            self.definitions.update(schema.pop("$defs", {}))
        else:
            schema = dict(kind.schema(ref_template="#/$defs/{model}"))
            self.definitions.update(schema.pop("definitions", {}))
        return schema

    def _members(self, kind: Any, where: str) -> Schema:
        if kind in self._open:  # a tree: what is below looks like what is above
            return {"type": "object", "description": f"{name_of(kind)}, as above"}
        self._open.append(kind)
        try:
            properties, required = {}, []
            texts = _docstring.parse(inspect.getdoc(kind) if kind.__doc__ else None).parameters
            for name, annotation, needed, default in _members_of(kind):
                properties[name] = _documented(self.of(annotation, f"{where}.{name}"), texts.get(name), default)
                if needed:
                    required.append(name)
        finally:
            self._open.pop()
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }


def _members_of(kind: Any) -> list[tuple[str, Any, bool, Any]]:
    """(name, annotation, whether it must be given, default or MISSING)"""
    hints = hints_of(kind)
    if dataclasses.is_dataclass(kind):
        return [
            (
                field.name,
                hints[field.name],
                field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
                field.default,
            )
            for field in dataclasses.fields(kind)
            if field.init
        ]
    if typing.is_typeddict(kind):
        return [(name, hint, name in kind.__required_keys__, dataclasses.MISSING) for name, hint in hints.items()]
    defaults = kind._field_defaults
    return [
        (name, hints.get(name, Any), name not in defaults, defaults.get(name, dataclasses.MISSING))
        for name in kind._fields
    ]


def _choices(choices: tuple[Any, ...], where: str) -> Schema:
    forms = [encode(choice, where) for choice in choices]
    names = {_PLAIN.get(type(form)) for form in forms}
    name = names.pop() if len(names) == 1 else None
    return {**({"type": name} if name else {}), "enum": forms}


def _numpy_type(kind: type) -> str:
    if kind.__name__ in ("bool", "bool_"):
        return "boolean"
    if issubclass(kind, numbers.Integral):
        return "integer"
    return "number" if issubclass(kind, numbers.Real) else "string"


def _description_of(kind: Any) -> str | None:
    if typing.get_origin(kind) is not typing.Annotated:
        return None
    for mark in typing.get_args(kind)[1:]:
        text = mark if isinstance(mark, str) else getattr(mark, "description", None)
        if isinstance(text, str) and text:
            return text
    return None


def _documented(schema: Schema, text: str | None, default: Any) -> Schema:
    if text and "description" not in schema:
        schema = {**schema, "description": text}
    if default is dataclasses.MISSING or default is inspect.Parameter.empty:
        return schema
    try:
        return {**schema, "default": encode(default, "the default")}
    except TypeError:  # it need not be sent, as the other side has it
        return schema


def parameters_of(function: Callable[..., Any]) -> Schema:
    """JSON Schema of what a function takes, as an object."""
    writer = _Writer()
    hints = parameter_hints_of(inspect.unwrap(function))
    texts = _docstring.parse(inspect.getdoc(function)).parameters
    properties: Schema = {}
    required = []
    for name, parameter in inspect.signature(function).parameters.items():
        schema = writer.of(hints.get(name, Any), name)
        properties[name] = _documented(schema, texts.get(name), parameter.default)
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if not required:
        del schema["required"]
    return {**schema, "$defs": writer.definitions} if writer.definitions else schema


def description_of(function: Callable[..., Any]) -> str:
    return _docstring.parse(inspect.getdoc(function)).text
