"""What is told of a tool: from annotations and docstring, as JSON Schema that others understand."""
import jsonschema
import pytest
import shop_tools

from code_sandbox import _docstring, _inside, _schema, describe, tool
from code_sandbox._tool import tool_of


def parameters(function):
    return tool_of(function).parameters


def test_google_docstring_optional_and_default():
    assert parameters(shop_tools.find_order) == {
        "type": "object",
        "properties": {
            "number": {"type": "integer", "description": "the number on the bill"},
            "since": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "description": "no older than this",
                      "default": None},
        },
        "required": ["number"], "additionalProperties": False,
    }
    assert tool_of(shop_tools.find_order).description == "Finds an order.\n\nLooks everywhere."


def test_annotated_literal_and_names():
    described = tool_of(shop_tools.search).describe()
    assert described == {
        "name": "search-orders", "entrypoint": "shop_tools:search", "description": "Searches.",
        "parameters": {"type": "object", "properties": {
            "text": {"type": "string", "description": "words"},
            "how": {"type": "string", "enum": ["fast", "deep"], "default": "fast"},
            "limit": {"type": "integer", "description": "at most", "default": 10},
        }, "required": ["text"], "additionalProperties": False}}


def test_classes_containers_and_numpy_docstring():
    schema = parameters(shop_tools.everything)
    properties = schema["properties"]
    assert properties["order"] == {
        "type": "object", "description": "the order", "required": ["number", "placed"], "additionalProperties": False,
        "properties": {"number": {"type": "integer", "description": "as on the bill"},
                       "placed": {"type": "string", "format": "date"},
                       "size": {"type": "string", "enum": ["s", "l"], "default": "s"},
                       "parts": {"type": "array", "items": {"type": "object", "description": "Order, as above"}}}}
    assert properties["customer"]["properties"]["orders"]["items"] == {"$ref": "#/$defs/Bill"}
    assert schema["$defs"]["Bill"]["properties"]["amount"]["type"] == "number"
    assert properties["pair"] == {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2,
                                  "maxItems": 2}
    assert properties["sizes"] == {"type": "array", "uniqueItems": True, "items": {"type": "string", "enum": ["s", "l"]},
                                   "description": "both of them"}
    assert properties["by_name"] == {"type": "object", "additionalProperties": {"type": "number"},
                                     "description": "both of them"}
    assert properties["data"] == {"type": "string", "contentEncoding": "base64"} and properties["anything"] == {}
    assert properties["price"] == {"anyOf": [{"type": "integer"}, {"type": "number"}], "default": 1.5}
    assert tool_of(shop_tools.everything).description == "Takes everything.\n\nNotes:\nSlow."


def test_sphinx_docstring():
    properties = parameters(shop_tools.sphinx)["properties"]
    assert properties == {"a": {"description": "the first, over two lines"}, "b": {"description": "the second", "default": None}}
    assert tool_of(shop_tools.sphinx).description == "Does it."


def test_no_arguments():
    assert parameters(shop_tools.nothing) == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize("function", ["find_order", "search", "everything", "sphinx", "nothing"])
def test_schemas_are_schemas(function):
    jsonschema.Draft202012Validator.check_schema(parameters(getattr(shop_tools, function)))


def test_the_schema_takes_what_is_sent_and_nothing_else():
    validator = jsonschema.Draft202012Validator(parameters(shop_tools.everything))
    good = {"order": {"number": 1, "placed": "2030-01-01"}, "customer": {"name": "a", "orders": [{"amount": 1}]},
            "pair": [1, "a"], "sizes": ["s"], "by_name": {"a": 1}, "data": "", "anything": None}
    assert validator.is_valid(good)
    for wrong in ({"pair": [1]}, {"sizes": ["x"]}, {"order": {"number": 1}}, {"customer": {"orders": [{}]}}, {"other": 1}):
        assert not validator.is_valid({**good, **wrong}), wrong


def test_discovery_lists_all_tools():
    listed = [entry for entry in _inside.tools() if entry["entrypoint"].startswith("shop_tools:")]
    assert [entry["name"] for entry in listed] == ["everything", "find_order", "grouped", "nothing", "search-orders", "sphinx"]
    assert listed[2]["entrypoint"] == "shop_tools:Group.grouped"
    assert all(entry.keys() == {"name", "entrypoint", "description", "parameters"} for entry in listed)


def module_with(code):
    names = {"tool": tool, "__name__": "made_up"}
    exec(code, names)
    return names


@pytest.fixture
def made_up():
    from code_sandbox import _tool

    yield module_with
    for place in [place for place in _tool._declared if place[0] == "made_up"]:
        del _tool._declared[place]


def test_two_tools_of_one_name(made_up):
    made_up("@tool(name='find_order')\ndef other(): ...")
    with pytest.raises(TypeError, match="Two tools are called 'find_order': .*Give one another name"):
        _inside.tools()


def test_an_annotation_without_a_form_is_named(made_up):
    made_up("@tool\ndef odd(a: list[complex]): ...")
    with pytest.raises(TypeError, match=r"The tool odd \(made_up:odd\) cannot be described: The type complex of a has no form"):
        _inside.tools()


def test_an_annotation_that_cannot_be_read_is_named(made_up):
    made_up("@tool\ndef odd(a: 'Gone'): ...")
    with pytest.raises(TypeError, match="The annotations of odd cannot be read: name 'Gone' is not defined"):
        _inside.tools()


@pytest.mark.parametrize("code, words", [
    ("@tool\ndef f(*args): ...", r"takes \*args or \*\*kwargs; each argument"), ("@tool\ndef f(**more): ...", r"takes \*args or \*\*kwargs"),
    ("@tool\ndef f(): yield", "The tool f yields"), ("@tool\nasync def f(): yield", "The tool f yields"),
    ("class A:\n  @tool\n  def f(self): ...", "is a method"), ("@tool\nclass A: ...", "belongs on a function"),
    ("tool(lambda: 1)", "must be a function of a module"), ("def g():\n  @tool\n  def f(): ...\ng()", "must be a function of a module"),
    ("@tool(name='a b')\ndef f(): ...", "must be 1 to 64 letters"), ("@tool(name='')\ndef f(): ...", "must be 1 to 64"),
    ("class A:\n  @tool\n  @staticmethod\n  def f(): ...", "belongs on a function; put it below @staticmethod"),
])
def test_what_could_not_be_called_from_elsewhere_is_refused_at_once(made_up, code, words):
    with pytest.raises(TypeError, match=words):
        made_up(code)


def test_formats_for_models():
    schema = parameters(shop_tools.find_order)
    assert describe(shop_tools.find_order)["function"] == {"name": "find_order", "description": "Finds an order.\n\nLooks everywhere.",
                                                           "parameters": schema}
    assert describe(shop_tools.find_order, "anthropic")["input_schema"] == schema
    assert describe(shop_tools.find_order, "openai-responses")["strict"] is False
    assert describe(shop_tools.find_order, "mcp")["inputSchema"] == schema
    with pytest.raises(ValueError, match="There is no format 'x'; there are: openai"):
        describe(shop_tools.find_order, "x")
    with pytest.raises(TypeError, match="test_formats_for_models is no tool"):
        describe(test_formats_for_models)


def test_docstrings_at_the_edges():
    assert _docstring.parse(None) == ("", {}) and _docstring.parse("Only text: it is.") == ("Only text: it is.", {})
    google = _docstring.parse("Sum.\n\nArgs:\n  *names: all\n\n  b (int, optional): two\n    lines: of text\n\nMore text.")
    assert google == ("Sum.\n\nMore text.", {"names": "all", "b": "two lines: of text"})
    assert _docstring.parse("A.\n\nExample:\n  f(1)\n\nRaises:\n  ValueError: never").text == "A.\n\nExample:\n  f(1)"


def test_control_of_the_parameters_of_a_plain_function():
    def plain(a: int): ...

    assert _schema.parameters_of(plain)["required"] == ["a"]
