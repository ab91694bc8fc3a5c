"""The mapping of values: what is sent is what comes out on the other side, and what cannot be sent is named."""
import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import typing
import uuid
from collections.abc import Iterable, Mapping, Sequence

import numpy
import pydantic
import pytest

from code_sandbox import _values
from code_sandbox._decode import Unfit, decode
from code_sandbox._encode import encode
from code_sandbox._plain import fits, is_plain


class Colour(enum.Enum):
    RED = "red"
    DARK = ("dark", 1)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(typing.NamedTuple):
    x: int
    y: float = 0.5


class Address(typing.TypedDict):
    street: str
    since: typing.NotRequired[datetime.date] if hasattr(typing, "NotRequired") else datetime.date


@dataclasses.dataclass
class Item:
    price: decimal.Decimal
    tags: set[str] = dataclasses.field(default_factory=set)
    total: decimal.Decimal = dataclasses.field(init=False, default=decimal.Decimal(0))

    def __post_init__(self):
        self.total = self.price * 2


@dataclasses.dataclass(frozen=True)
class Order:
    number: int
    placed: datetime.datetime
    items: list[Item]
    address: Address
    parent: "Order | None" = None


class Model(pydantic.BaseModel):
    when: datetime.date
    amount: decimal.Decimal
    points: list[int] = []


UTC = datetime.timezone.utc
Number = typing.NewType("Number", int)
ITEM = Item(decimal.Decimal("19.90"), {"b", "a"})
ORDER = Order(7, datetime.datetime(2030, 1, 31, 12, tzinfo=UTC), [ITEM], {"street": "x", "since": datetime.date(2020, 1, 2)})
INF = decimal.Decimal("Infinity")

ROUND = [  # (annotation, value, its form in JSON)
    (typing.Any, {"a": [1, 2.5, None, True, "é"]}, {"a": [1, 2.5, None, True, "é"]}),
    (int, 2**63 - 1, 2**63 - 1), (int, -2**63, -2**63), (float, 0.1, 0.1), (bool, False, False), (type(None), None, None),
    (str, "a\0\n😀", "a\0\n😀"),
    (bytes, b"\x00\xff", "AP8="), (bytearray, bytearray(b"a"), "YQ=="),
    (datetime.datetime, datetime.datetime(2030, 1, 2, 3, 4, 5, 678901), "2030-01-02T03:04:05.678901"),
    (datetime.datetime, ORDER.placed, "2030-01-31T12:00:00+00:00"),
    (datetime.date, datetime.date(2030, 1, 2), "2030-01-02"),
    (datetime.time, datetime.time(12, 30, tzinfo=UTC), "12:30:00+00:00"),
    (datetime.timedelta, datetime.timedelta(days=-3, microseconds=1), -259199.999999),
    (decimal.Decimal, decimal.Decimal("1.10"), "1.10"), (decimal.Decimal, INF, "Infinity"),
    (uuid.UUID, uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (pathlib.Path, pathlib.Path("a/b"), "a/b"), (pathlib.PurePosixPath, pathlib.PurePosixPath("/x"), "/x"),
    (Colour, Colour.RED, "red"), (Colour, Colour.DARK, ["dark", 1]), (Level, Level.HIGH, 2),
    (typing.Literal["a", 1, None], 1, 1), (typing.Literal[Colour.RED], Colour.RED, "red"),
    (list[int], [1, 2], [1, 2]), (set[int], {3, 1, 2}, [1, 2, 3]), (frozenset[str], frozenset("ba"), ["a", "b"]),
    (tuple[int, str], (1, "a"), [1, "a"]), (tuple[int, ...], (1, 2, 3), [1, 2, 3]), (tuple[()], (), []),
    (collections.deque[int], collections.deque([1]), [1]),
    (Sequence[datetime.date], [datetime.date(2030, 1, 2)], ["2030-01-02"]), (Iterable[int], [1], [1]),
    (dict[str, set[int]], {"a": {1}}, {"a": [1]}), (dict[int, str], {1: "a"}, {"1": "a"}),
    (dict[datetime.date, int], {datetime.date(2030, 1, 2): 1}, {"2030-01-02": 1}),
    (dict[Level, int], {Level.LOW: 5}, {"1": 5}), (dict[Colour, int], {Colour.RED: 5}, {"red": 5}),
    (Mapping[str, decimal.Decimal], {"a": decimal.Decimal("2")}, {"a": "2"}),
    (Point, Point(1, 2.5), {"x": 1, "y": 2.5}),
    (Order, ORDER, {"number": 7, "placed": "2030-01-31T12:00:00+00:00", "parent": None,
                    "items": [{"price": "19.90", "tags": ["a", "b"], "total": "39.80"}],
                    "address": {"street": "x", "since": "2020-01-02"}}),
    (Model, Model(when="2030-01-02", amount="1.50"), {"when": "2030-01-02", "amount": "1.50", "points": []}),
    (list[Model], [Model(when="2030-01-02", amount=1)], [{"when": "2030-01-02", "amount": "1", "points": []}]),
    (int | None, None, None), (typing.Optional[datetime.date], datetime.date(2030, 1, 2), "2030-01-02"),
    (int | float, 3, 3), (float | int, 3, 3), (float | int, 3.5, 3.5), (bool | str, True, True),
    (datetime.date | str, "no date", "no date"), (int | list[int], [1], [1]),
    (Number, 5, 5), (typing.Annotated[decimal.Decimal, "a price"], decimal.Decimal("1"), "1"),
    (numpy.float64, numpy.float64(0.5), 0.5), (numpy.int32, numpy.int32(7), 7), (numpy.bool_, numpy.bool_(True), True),
    (numpy.float32, numpy.float32(0.5), 0.5), (str, numpy.str_("a"), "a"),
    (datetime.datetime, numpy.datetime64("2030-01-02T03:04:05"), "2030-01-02T03:04:05"),
    (dict[str, int], collections.OrderedDict(a=1), {"a": 1}),
]


@pytest.mark.parametrize("kind, value, form", ROUND, ids=[f"{kind}-{value!r:.40}" for kind, value, _ in ROUND])
def test_values_there_and_back(kind, value, form):
    sent = encode(value, "value")
    assert sent == form and json.loads(json.dumps(sent, allow_nan=False)) == form
    back = decode(json.loads(json.dumps(sent)), kind, "value")
    assert back == value
    if not isinstance(value, (numpy.generic, collections.OrderedDict)) and kind is not type(None):
        assert type(back) is type(value)


class Odd:
    pass


LOOP: list = []
LOOP.append({"a": LOOP})
DEEP: list = []
for _ in range(70):
    DEEP = [DEEP]

REFUSED = [  # (value, what is said of it)
    ({"a": [1, Odd()]}, "value.a[1] is a test_values.Odd, which has no form in JSON"),
    (ORDER.__class__(1, ORDER.placed, [Odd()], {}), "value.items[0] is a test_values.Odd"),
    ({"my key": 1 + 2j}, "value['my key'] is a complex"),
    ([math.nan], "value[0] is nan, for which JSON has no number: use None"),
    (numpy.float64("inf"), "value is inf"), (math.inf, "value is inf"),
    (2**63, "value is an integer of more than 64 bits"),
    ("\ud800", "value is text that UTF-8 cannot write (a lone surrogate at position 0)"),
    ({"\udc00": 1}, "a key of value is text that UTF-8 cannot write"),
    ({(1, 2): 3}, "value has a key of type tuple"), ({True: 1}, "value has a key of type bool"),
    ({1.5: 1}, "value has a key of type float"), ({1: "a", "1": "b"}, "value has two keys that are '1' in JSON"),
    (LOOP, "value[0].a contains itself"), (DEEP, "is nested deeper than 60 levels"),
    (numpy.zeros(2), "value is a numpy.ndarray, which has no form in JSON: .tolist() makes it a list"),
    (numpy.complex128(1), "value is a numpy.complex128"), (numpy.longdouble(1), "value is a numpy.longdouble"),
    ((i for i in []), "value is a generator, which has no form in JSON: list(...)"), (range(3), "list(...)"),
    (Odd, "value is a type"), (len, "builtin_function_or_method"), (Item, "value is a type"),
]


@pytest.mark.parametrize("value, words", REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_what_has_no_form_is_refused_with_its_place(value, words):
    with pytest.raises(TypeError) as caught:
        encode(value, "value")
    assert words in str(caught.value)


def test_the_same_object_twice_is_no_cycle():
    shared = [1]
    assert encode([shared, shared, {"a": shared}], "value") == [[1], [1], {"a": [1]}]


UNFIT = [  # (annotation, JSON, what is said)
    (int, "5", 'value must be a whole number, not "5"'), (int, True, "value must be a whole number, not true"),
    (int, 1.5, "a whole number, not 1.5"), (str, 5, "value must be text, not 5"), (float, "x", "a number"),
    (bool, 1, "true or false"), (bytes, "!", "base64"), (bytes, "é", "base64"), (datetime.date, "2030-13-01", "a date such as"),
    (datetime.datetime, 5, "a date and time such as"), (datetime.datetime, "", "a date and time such as"),
    (datetime.timedelta, "x", "a number of seconds"), (datetime.timedelta, 1e300, "a number of seconds"),
    (decimal.Decimal, "x", "a decimal number"), (uuid.UUID, "x", "a UUID"), (Colour, "blue", 'one of "red", ["dark", 1]'),
    (typing.Literal[1, 2], True, "one of 1, 2"), (list[int], {"a": 1}, "a list"), (list[int], [1, "x"], "value[1] must be"),
    (tuple[int, int], [1], "a list of 2"), (set[typing.Any], [[1]], "a list of what a set can hold"),
    (dict[int, int], {"x": 1}, "the key 'x', which is no whole number"), (dict[str, int], [], "an object"),
    (Order, {"number": 1}, "value.placed is missing"), (Point, {"x": 1, "z": 2}, "value.z is unknown; there are: x, y"),
    (list[Order], [{"number": 1, "placed": "x", "items": [], "address": {"street": ""}}], "value[0].placed must be a date"),
    (Address, {}, "value.street is missing"), (int | list[int], "x", "int or list"), (int | None, "x", "a whole number"),
    (Model, {"when": "x", "amount": 1}, "value does not fit Model"), (numpy.int8, "x", "a int8"),
]


@pytest.mark.parametrize("kind, value, words", UNFIT, ids=[words[:40] for _, _, words in UNFIT])
def test_what_does_not_fit_is_refused_with_its_place(kind, value, words):
    with pytest.raises(Unfit) as caught:
        decode(value, kind, "value")
    assert words in str(caught.value)


def test_long_values_are_shortened_in_messages():
    with pytest.raises(Unfit) as caught:
        decode("x" * 10**6, int, "value")
    assert len(str(caught.value)) < 150


def test_other_ways_to_write_the_same():
    assert decode("2030-01-31T12:00:00Z", datetime.datetime, "v") == ORDER.placed
    assert decode(19.9, decimal.Decimal, "v") == decimal.Decimal("19.9") and decode(3.0, int, "v") == 3
    assert type(decode(3, float, "v")) is float


def with_all(a: int, /, b: datetime.date, *, c: "decimal.Decimal | None" = None) -> tuple[int, str]:
    return a, f"{b} {c}"


def test_arguments_by_name():
    sent = _values.encode_arguments(with_all, (1,), {"b": datetime.date(2030, 1, 2), "c": decimal.Decimal("1")})
    assert sent == {"a": 1, "b": "2030-01-02", "c": "1"}
    args, kwargs = _values.decode_arguments(with_all, sent)
    assert with_all(*args, **kwargs) == (1, "2030-01-02 1")
    args, kwargs = _values.decode_arguments(with_all, {"a": 1, "b": "2030-01-02"})
    assert with_all(*args, **kwargs) == (1, "2030-01-02 None")


def positional(a: int = 1, b: int = 2, /) -> int:
    return a * 10 + b


def test_a_positional_argument_after_one_that_is_left_out():
    args, kwargs = _values.decode_arguments(positional, {"b": 5})
    assert positional(*args, **kwargs) == 15


@pytest.mark.parametrize("arguments, words", [
    ({"b": "2030-01-02"}, "a is missing"), ({"a": 1, "b": "2030-01-02", "d": 1}, "d is unknown; the arguments are: a, b, c"),
    ({"a": 1, "b": "x"}, "b must be a date")])
def test_arguments_that_are_wrong(arguments, words):
    with pytest.raises(TypeError, match=words):
        _values.decode_arguments(with_all, arguments)


def test_a_call_that_python_would_refuse_is_refused_alike():
    with pytest.raises(TypeError, match="missing a required argument: 'b'"):
        _values.encode_arguments(with_all, (1,), {})


def test_results():
    assert _values.encode_result((1, "a")) == [1, "a"]
    assert _values.decode_result(with_all, [1, "a"]) == (1, "a")
    assert _values.decode_result(with_all, {"not": "that"}) == {"not": "that"}  # as in Python, an annotation is no promise
    with pytest.raises(TypeError, match=r"the result\[0\] is a test_values.Odd"):
        _values.encode_result([Odd()])


@pytest.mark.parametrize("value", [value for _, value, _ in ROUND] + [value for value, _ in REFUSED], ids=repr)
def test_the_quick_way_for_plain_values_says_the_same(value):
    try:
        form = encode(value, "value")
    except TypeError:
        assert not is_plain(value)
    else:
        if is_plain(value):
            assert json.dumps(form) == json.dumps(value)
            assert _values.encode_result(value) is value


def plain(a: int, b: "str" = "", *, c: float, d=None): ...


@pytest.mark.parametrize("arguments, expected", [
    ({"a": 1, "c": 1.5}, True), ({"a": 1, "b": "x", "c": 1.5, "d": {"e": [1]}}, True), ({"a": 1, "c": 1}, False),
    ({"a": True, "c": 1.5}, False), ({"c": 1.5}, False), ({"a": 1}, False), ({"a": 1, "c": 1.5, "e": 1}, False)])
def test_the_quick_way_for_plain_arguments(arguments, expected):
    assert fits(plain, arguments) is expected
    try:
        args, kwargs = _values.decode_arguments(plain, arguments)
    except TypeError:
        assert not expected
    else:
        assert args == () and kwargs == arguments


@pytest.mark.parametrize("function", [with_all, positional, lambda **more: 1, lambda *more: 1, len])
def test_what_is_not_plain_goes_the_long_way(function):
    assert not fits(function, {"a": 1, "b": 2})


def shadowed(a: "Colour"): ...


def test_an_annotation_as_text_that_means_something_else():
    assert _values.decode_arguments(shadowed, {"a": "red"}) == ((), {"a": Colour.RED})


def with_a_result_for_type_checkers(a: datetime.date) -> "OnlyForTypeCheckers": ...  # noqa: F821


def test_the_result_s_type_need_not_exist_for_arguments():
    assert _values.decode_arguments(with_a_result_for_type_checkers, {"a": "2030-01-02"})[1] == {"a": datetime.date(2030, 1, 2)}
    assert _values.decode_result(with_a_result_for_type_checkers, "x") == "x"
