"""Judges tool descriptions by the vendors' published clients. Run by tests/e2e/test_tool_descriptions.py.

Runs in the environment that scripts/install-test-clients makes. Reads {format: description} from standard input, writes
{format: [complaint]}. Each description is checked against the client's own type with nothing left over, and then sent:
through the client, to a transport that keeps the request instead of a network.
"""
import json
import sys

import anthropic
import jsonschema
import mcp.types
import openai
import pydantic
from anthropic.types import ToolParam
from google.genai import types as gemini
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam

CODE = {"code": "print(1)"}


def check_type(kind, tool):
    """A TypedDict, as a client's type checker would see it: no field missing, none of the wrong type, none unknown."""
    try:
        pydantic.TypeAdapter(kind).validate_python(tool, strict=True)
    except pydantic.ValidationError as problem:
        return [str(problem)]
    known = set(kind.__annotations__)
    return [f"{kind.__name__} has no {name!r}" for name in tool if name not in known]


def check_schema(schema):
    """What a model is asked for can be checked, takes a call, and refuses one without code or with anything unknown."""
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as problem:
        return [str(problem)]
    validator = jsonschema.Draft202012Validator(schema)
    complaints = [] if validator.is_valid(CODE) else ["the schema refuses a plain call"]
    for wrong in ({}, {"code": 5}, {**CODE, "other": 1}, {**CODE, "timeout_s": 1000}):
        if validator.is_valid(wrong):
            complaints.append(f"the schema takes {wrong}")
    return complaints


def check_openai(tool):
    complaints = check_type(ChatCompletionFunctionToolParam, tool)
    if not complaints:
        complaints = check_type(openai.types.shared_params.FunctionDefinition, tool["function"])
    return complaints or check_schema(tool["function"]["parameters"])


def check_openai_responses(tool):
    return check_type(FunctionToolParam, tool) or check_schema(tool["parameters"])


def check_anthropic(tool):
    return check_type(ToolParam, tool) or check_schema(tool["input_schema"])


def check_gemini(tool):
    """Its own types refuse what they do not know, and there is no additionalProperties among it."""
    try:
        parsed = gemini.Tool.model_validate(tool)
    except pydantic.ValidationError as problem:
        return [str(problem)]
    again = parsed.model_dump(mode="json", by_alias=True, exclude_none=True)
    (function,) = parsed.function_declarations
    complaints = [] if again == tool else [f"the client makes {again} of it"]
    if not function.name or not function.description:  # its type lets them be left out, its API does not
        complaints.append("name or description is missing")
    if function.parameters.type is not gemini.Type.OBJECT or function.parameters.required != ["code"]:
        complaints.append(f"the parameters are {function.parameters}")
    return complaints


def check_mcp(tool):
    try:
        parsed = mcp.types.Tool.model_validate(tool)
    except pydantic.ValidationError as problem:
        return [str(problem)]
    again = parsed.model_dump(mode="json", by_alias=True, exclude_none=True)
    complaints = [] if again == tool else [f"the client makes {again} of it"]
    return complaints + check_schema(tool["inputSchema"])


# ---- through the clients


class Sent(Exception):
    """The request that would have gone out."""

    def __init__(self, body):
        super().__init__("sent")
        self.body = body


def sent_tools(call):
    """What stands under `tools` in the request of a call."""
    try:
        call()
    except Exception as problem:  # the client wraps what its transport raises
        while problem is not None and not isinstance(problem, Sent):
            problem = problem.__cause__ or problem.__context__
        if problem is None:
            raise
        return problem.body["tools"]
    raise AssertionError("nothing was sent")


def keep(request):
    raise Sent(json.loads(request.content))


def http_module(client):
    """The HTTP library that the client is built on, whatever its name is in this version."""
    for kind in type(client._client).__mro__:
        name = kind.__module__.split(".")[0]
        if name not in ("openai", "anthropic", "builtins"):
            return sys.modules[name]
    raise AssertionError(f"{client} has no HTTP client")


def openai_client():
    http = http_module(openai.OpenAI(api_key="x"))
    return openai.OpenAI(api_key="x", max_retries=0, http_client=http.Client(transport=http.MockTransport(keep)))


def anthropic_client():
    http = http_module(anthropic.Anthropic(api_key="x"))
    return anthropic.Anthropic(api_key="x", max_retries=0, http_client=http.Client(transport=http.MockTransport(keep)))


MESSAGES = [{"role": "user", "content": "How much is 2 to the power of 100?"}]
SENDERS = {
    "openai": lambda tool: openai_client().chat.completions.create(model="m", messages=MESSAGES, tools=[tool]),
    "openai-responses": lambda tool: openai_client().responses.create(model="m", input="hello", tools=[tool]),
    "anthropic": lambda tool: anthropic_client().messages.create(model="m", max_tokens=9, messages=MESSAGES,
                                                                 tools=[tool]),
}
CHECKS = {
    "openai": check_openai,
    "openai-responses": check_openai_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
    "mcp": check_mcp,
}


def check(kind, tool):
    complaints = CHECKS[kind](tool)
    if not complaints and kind in SENDERS:
        sent = sent_tools(lambda: SENDERS[kind](tool))
        complaints = [] if sent == [tool] else [f"the client sends {sent}"]
    return complaints


json.dump({name: check(name.split("/")[0], tool) for name, tool in json.load(sys.stdin).items()}, sys.stdout)
