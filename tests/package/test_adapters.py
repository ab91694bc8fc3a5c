"""Frameworks of others with our tools: the real packages, a model server that says what is written here, and a platform
that answers by heart. The model asks for run_python and for a tool of the agent's, and sees what came of them."""
import asyncio
import base64
import functools
import json

import anthropic
import openai
import pytest
import shop_tools
from fake_platform import FakePlatform, call_reply, error, run_reply

from code_sandbox import _calling, conversation, run_python, run_python_async, tool
from code_sandbox.adapters import anthropic as for_anthropic
from code_sandbox.adapters import langchain as for_langchain
from code_sandbox.adapters import llama_index as for_llama_index
from code_sandbox.adapters import openai as for_openai
from code_sandbox.adapters import openai_agents as for_agents
from code_sandbox.adapters import pydantic_ai as for_pydantic_ai
from code_sandbox.adapters import smolagents as for_smolagents

PNG = b"\x89PNG chart"
ENCODED = base64.b64encode(PNG).decode()
RUN = run_reply(stdout="42\n", results=[{"image/png": ENCODED, "text/plain": "<Figure>"}],
                session={"stateful": True, "restarted": True, "message": "All variables were lost: a call was too slow."})
TEXT = "All variables were lost: a call was too slow.\n\nstdout:\n42\n\n1 chart was drawn."
TOOLS = (run_python, shop_tools.find_order, shop_tools.search)
CALLS = [("call_1", "run_python", {"code": "plot()"}), ("call_2", "find_order", {"number": 7, "since": "2030-01-02"}),
         ("call_3", "search-orders", {"text": "x"}), ("call_4", "find_order", {"number": "seven"}), ("call_5", "gone", {})]
ORDER = {"number": 7, "placed": "2030-01-02", "size": "s", "parts": []}
TEXTS = [TEXT, json.dumps(ORDER), "RuntimeError: no search today",
         'The arguments of find_order are wrong: number must be a whole number, not "seven".',
         "There is no tool 'gone'; there are: run_python, find_order, search-orders."]
SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"], "additionalProperties": False}


@pytest.fixture(autouse=True)
def answers(platform):
    """The service, with its description of run_python in each format."""
    text = "Runs Python. All calls of this conversation share one interpreter."
    function = {"name": "run_python", "description": text, "parameters": SCHEMA}
    for kind, description in (("openai", {"type": "function", "function": function}),
                              ("openai-responses", {"type": "function", **function, "strict": False}),
                              ("anthropic", {"name": "run_python", "description": text, "input_schema": SCHEMA})):
        platform.on("GET", f"/v1/tools/run_python?format={kind}&agent=shop", description)
    platform.on("POST", "/v1/execute", RUN)

    def call(request):
        if request.json["tool"] == "find_order":
            return 200, call_reply(ORDER), {}
        return 200, call_reply(outcome="error", exit_code=1, error={"type": "RuntimeError", "message": "no search today",
                                                                   "traceback": "Traceback"}), {}

    platform.on("POST", "/v1/call", call)
    with conversation("talk-1"):
        yield
    assert {request.json["conversation_id"] for request in platform.requests if request.method == "POST"} <= {"talk-1"}
    assert {request.json["agent"] for request in platform.requests if request.method == "POST"} <= {"shop"}


@pytest.fixture
def model():
    server = FakePlatform()
    yield server
    server.close()


def chat(**message):
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": {
        "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}, "choices": [
        {"index": 0, "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
         "message": {"role": "assistant", "content": None, **message}}]}


CHAT_CALLS = [{"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
              for key, name, given in CALLS]


def as_awaited(function):
    return lambda *args, **kwargs: asyncio.run(function(*args, **kwargs))


@pytest.mark.parametrize("answer", [None, as_awaited(for_openai.answers_async)], ids=["sync", "async"])
def test_a_loop_with_openai_s_client(model, answer):
    model.on("POST", "/v1/chat/completions", chat(tool_calls=CHAT_CALLS), chat(content="It is 42."))
    tools = TOOLS if answer else (run_python, shop_tools.find_order)
    client = openai.OpenAI(base_url=f"{model.url}/v1", api_key="k")
    messages = [{"role": "user", "content": "Plot it."}]
    while True:
        message = client.chat.completions.create(model="m", messages=messages, tools=for_openai.tools(*tools)).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        messages += (answer or for_openai.answers)(message, *tools)
    assert message.content == "It is 42."
    first, second = (request.json for request in model.requests)
    assert "share one interpreter" in first["tools"][0]["function"]["description"]
    told = {entry["tool_call_id"]: entry["content"] for entry in second["messages"] if entry["role"] == "tool"}
    assert told["call_1"] == TEXT and told["call_2"] == TEXTS[1] and told["call_4"] == TEXTS[3]
    assert told["call_3"] == (TEXTS[2] if answer else "There is no tool 'search-orders'; there are: run_python, find_order.")
    assert second["messages"][-1]["content"][1]["image_url"]["url"] == f"data:image/png;base64,{ENCODED}"


@pytest.mark.parametrize("answer", [for_openai.response_answers, as_awaited(for_openai.response_answers_async)],
                         ids=["sync", "async"])
def test_a_loop_with_openai_s_responses(model, answer):
    def response(*output):
        return {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": list(output), "status": "completed",
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}

    calls = [{"type": "function_call", "id": f"fc_{key}", "call_id": key, "name": name, "arguments": json.dumps(given)}
             for key, name, given in CALLS[:2]]
    model.on("POST", "/v1/responses", response(*calls), response())
    client = openai.OpenAI(base_url=f"{model.url}/v1", api_key="k")
    items = [{"role": "user", "content": "Plot it."}]
    reply = client.responses.create(model="m", input=items, tools=for_openai.response_tools(*TOOLS))
    items += [*reply.output, *answer(reply, *TOOLS)]
    client.responses.create(model="m", input=items, tools=for_openai.response_tools(*TOOLS))
    sent = {item["call_id"]: item["output"] for item in model.last.json["input"] if item.get("type") == "function_call_output"}
    assert sent["call_1"] == [{"type": "input_text", "text": TEXT},
                              {"type": "input_image", "image_url": f"data:image/png;base64,{ENCODED}", "detail": "auto"}]
    assert sent["call_2"] == TEXTS[1] and model.requests[0].json["tools"][0]["strict"] is False


def test_a_loop_with_anthropic_s_client(model):
    def message(reason, *content):
        return {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": reason, "stop_sequence": None,
                "content": list(content), "usage": {"input_tokens": 1, "output_tokens": 1}}

    calls = [{"type": "tool_use", "id": key, "name": name, "input": given} for key, name, given in CALLS]
    model.on("POST", "/v1/messages", message("tool_use", *calls), message("end_turn", {"type": "text", "text": "It is 42."}))
    client = anthropic.Anthropic(base_url=model.url, api_key="k")
    messages = [{"role": "user", "content": "Plot it."}]
    while True:
        reply = client.messages.create(model="m", max_tokens=100, messages=messages, tools=for_anthropic.tools(*TOOLS))
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            break
        messages.append(asyncio.run(for_anthropic.answers_async(reply, *TOOLS)))
    results = model.last.json["messages"][2]["content"]
    assert [result["content"][0]["text"] for result in results] == TEXTS
    assert [result["is_error"] for result in results] == [False, False, True, True, True]
    assert results[0]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": ENCODED}
    assert for_anthropic.answers(reply, *TOOLS) == {"role": "user", "content": []}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("package", ["langchain", "langgraph"])
@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_langchain_and_langgraph(model, package, asynchronous):
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    wanted = [CHAT_CALLS[0], CHAT_CALLS[1], CHAT_CALLS[3]]
    model.on("POST", "/v1/chat/completions", chat(tool_calls=wanted), chat(content="It is 42."))
    make = create_agent if package == "langchain" else create_react_agent
    agent = make(ChatOpenAI(model="m", base_url=f"{model.url}/v1", api_key="k"), tools=for_langchain.tools(*TOOLS))
    question = {"messages": [("user", "Plot it.")]}
    done = asyncio.run(agent.ainvoke(question)) if asynchronous else agent.invoke(question)
    assert done["messages"][-1].content == "It is 42."
    told = {entry.tool_call_id: entry for entry in done["messages"] if entry.type == "tool"}
    assert told["call_1"].content == TEXT and told["call_1"].artifact == [PNG]
    assert told["call_2"].content == TEXTS[1] and told["call_4"].content == TEXTS[3]
    sent = {entry["function"]["name"]: entry["function"] for entry in model.requests[0].json["tools"]}
    assert sent["run_python"]["parameters"]["required"] == ["code"] and "share one" in sent["run_python"]["description"]


def test_langchain_with_a_model_that_sees():
    run_tool, order_tool, _ = for_langchain.tools(*TOOLS, images=True)
    message = run_tool.invoke({"type": "tool_call", "id": "1", "name": "run_python", "args": {"code": "plot()"}})
    assert message.content == [{"type": "text", "text": TEXT}, {"type": "image", "base64": ENCODED, "mime_type": "image/png"}]
    assert message.artifact == [PNG]
    assert order_tool.invoke({"type": "tool_call", "id": "1", "name": "find_order", "args": {"number": 7}}).content == TEXTS[1]


def test_openai_s_agents(model):
    import agents

    agents.set_tracing_disabled(True)
    model.on("POST", "/v1/chat/completions", chat(tool_calls=CHAT_CALLS[:4]), chat(content="It is 42."))
    client = openai.AsyncOpenAI(base_url=f"{model.url}/v1", api_key="k")
    agent = agents.Agent(name="analyst", tools=for_agents.tools(*TOOLS),
                         model=agents.OpenAIChatCompletionsModel(model="m", openai_client=client))
    assert asyncio.run(agents.Runner.run(agent, "Plot it.")).final_output == "It is 42."
    told = {entry["tool_call_id"]: json.dumps(entry["content"]) for entry in model.last.json["messages"] if entry["role"] == "tool"}
    assert "42" in told["call_1"] and "variables were lost" in told["call_1"] and json.loads(told["call_2"]) == TEXTS[1]
    assert json.loads(told["call_3"]) == TEXTS[2] and json.loads(told["call_4"]) == TEXTS[3]


def test_pydantic_ai(model):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model.on("POST", "/v1/chat/completions", chat(tool_calls=CHAT_CALLS[:4]), chat(content="It is 42."))
    agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=f"{model.url}/v1", api_key="k")),
                  tools=for_pydantic_ai.tools(*TOOLS))
    assert agent.run_sync("Plot it.").output == "It is 42."
    told = {entry["tool_call_id"]: entry["content"] for entry in model.last.json["messages"] if entry["role"] == "tool"}
    assert [told[key] for key in ("call_1", "call_2", "call_3", "call_4")] == TEXTS[:4]
    assert f"data:image/png;base64,{ENCODED}" in json.dumps(model.last.json["messages"][-1])
    sent = {entry["function"]["name"]: entry["function"] for entry in model.requests[0].json["tools"]}
    assert sent["run_python"]["parameters"]["required"] == ["code"] and "share one" in sent["run_python"]["description"]
    assert sent["find_order"]["parameters"]["properties"]["number"]["description"] == "the number on the bill"


def test_llama_index():
    """As its agents call tools; tests/frameworks has an agent itself."""
    from llama_index.core.tools.calling import acall_tool, call_tool

    run_tool, order_tool, search_tool = for_llama_index.tools(*TOOLS)
    sent = run_tool.metadata.to_openai_tool(skip_length_check=True)["function"]
    assert sent["name"] == "run_python" and "share one" in sent["description"] and sent["parameters"] == SCHEMA
    for output in (call_tool(run_tool, {"code": "plot()"}), asyncio.run(acall_tool(run_tool, {"code": "plot()"}))):
        assert str(output) == TEXT and not output.is_error
        assert base64.b64decode(output.blocks[1].resolve_image(as_base64=True).read()) == PNG
    assert str(call_tool(order_tool, CALLS[1][2])) == TEXTS[1]
    output = asyncio.run(acall_tool(search_tool, {"text": "x"}))
    assert str(output) == TEXTS[2] and output.is_error
    assert call_tool(order_tool, {"number": "seven"}).content == TEXTS[3]
    assert json.loads(order_tool.metadata.fn_schema_str)["properties"]["since"]


PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def test_smolagents(model, platform):
    from smolagents import OpenAIModel, ToolCallingAgent

    platform.on("POST", "/v1/execute", {**RUN, "results": [{"image/png": base64.b64encode(PICTURE).decode()}]})
    calls = [CHAT_CALLS[0], CHAT_CALLS[1], {**CHAT_CALLS[2], "function": {**CHAT_CALLS[2]["function"], "name": "search_orders"}}]
    final = {"id": "call_9", "type": "function", "function": {"name": "final_answer", "arguments": '{"answer": "It is 42."}'}}
    model.on("POST", "/v1/chat/completions", chat(tool_calls=calls), chat(tool_calls=[final]))
    agent = ToolCallingAgent(tools=for_smolagents.tools(*TOOLS), step_callbacks=[for_smolagents.show_charts], verbosity_level=0,
                             model=OpenAIModel("m", api_base=f"{model.url}/v1", api_key="k"))

    async def main():  # the program around it may well be asynchronous
        return agent.run("Plot it.")

    assert asyncio.run(main()) == "It is 42."
    last = model.last.json["messages"][-1]["content"]
    text = "".join(part.get("text", "") for part in last)
    assert [text.find(expected) >= 0 for expected in TEXTS[:3]] == [True] * 3
    assert [part["image_url"]["url"][:22] for part in last if part["type"] == "image_url"] == ["data:image/png;base64,"]
    sent = {entry["function"]["name"]: entry["function"]["parameters"] for entry in model.requests[0].json["tools"]}
    assert sent["run_python"]["required"] == ["code"] and sent["find_order"]["required"] == ["number"]
    assert sent["find_order"]["properties"]["since"]["type"] == "string"


def test_smolagents_inputs_of_every_kind(model):
    from smolagents.models import get_tool_json_schema

    order, everything = for_smolagents.tools(shop_tools.find_order, shop_tools.everything)
    kinds = {name: (entry["type"], entry.get("nullable", False)) for name, entry in everything.inputs.items()}
    assert kinds == {
        "order": ("object", False), "customer": ("object", False), "pair": ("array", False), "sizes": ("array", False),
        "by_name": ("object", False), "data": ("string", False), "anything": ("any", False),
        "price": (["integer", "number"], True)}
    sent = get_tool_json_schema(everything)["function"]["parameters"]
    bills = sent["properties"]["customer"]["properties"]["orders"]["items"]
    assert bills["properties"]["amount"]["type"] == "number", "what is referred to is written out"
    assert sent["required"] == [name for name in kinds if name != "price"] and "$" not in json.dumps(sent)
    assert order.inputs["since"] == {**order.inputs["since"], "type": "string", "format": "date", "nullable": True}


def test_smolagents_may_leave_out_what_has_a_default(platform):
    (search,) = for_smolagents.tools(shop_tools.search)
    platform.on("POST", "/v1/call", call_reply([]))
    assert search(text="x", how=None, limit=None) == "[]"
    assert platform.last.json["arguments"] == {"text": "x"}
    assert search("x", "deep") == "[]"  # as the code of a CodeAgent may call it
    assert platform.last.json["arguments"] == {"text": "x", "how": "deep"}


# ---- what they share


@tool
def with_names_of_theirs(config: str, run_manager: str, context: str, name: str, input: str) -> str:
    """Its parameters have names that frameworks use for themselves."""


def called_by_llama_index(arguments):
    from llama_index.core.tools.calling import call_tool

    call_tool(for_llama_index.tools(with_names_of_theirs)[0], arguments)


def called_by_pydantic_ai(arguments):
    from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    said = iter([ToolCallPart("with_names_of_theirs", arguments), TextPart("Done.")])
    model = FunctionModel(lambda messages, info: ModelResponse(parts=[next(said)]))
    Agent(model, tools=for_pydantic_ai.tools(with_names_of_theirs)).run_sync("Call it.")


@pytest.mark.parametrize("framework", [
    lambda arguments: for_langchain.tools(with_names_of_theirs)[0].invoke(arguments),
    lambda arguments: asyncio.run(for_langchain.tools(with_names_of_theirs)[0].ainvoke(arguments)),
    lambda arguments: for_smolagents.tools(with_names_of_theirs)[0](**arguments, sanitize_inputs_outputs=True),
    called_by_llama_index, called_by_pydantic_ai], ids=["langchain", "langchain-async", "smolagents", "llama_index", "pydantic_ai"])
def test_names_that_frameworks_use_themselves_are_the_tool_s(platform, framework):
    platform.on("POST", "/v1/call", call_reply("done"))
    arguments = {key: key.upper() for key in ("config", "run_manager", "context", "name", "input")}
    framework(dict(arguments))
    assert platform.last.json["arguments"] == arguments


def test_a_limit_is_told_to_the_model(platform):
    platform.on("POST", "/v1/execute", (429, error("session_limit", "2 sessions are live, which is the most: end one."), {}))
    for answer in (_calling.call(TOOLS, "run_python", '{"code": "1"}'),
                   asyncio.run(_calling.call_async(TOOLS, "run_python", '{"code": "1"}'))):
        assert answer.is_error and "2 sessions are live, which is the most: end one." in answer.text


@functools.wraps(run_python)
def wrapped(code, timeout_s=None):
    return run_python(code, timeout_s)


@pytest.mark.parametrize("function, path, arguments", [
    (shop_tools.find_order, "/v1/call", {"number": 7}), (run_python, "/v1/execute", {"code": "1"}),
    (wrapped, "/v1/execute", {"code": "1"})], ids=["a tool", "run_python", "a wrapper of it"])
def test_an_agent_that_is_cancelled_ends_what_runs(platform, function, path, arguments):
    """Whether the function is asynchronous or not."""
    platform.on("POST", path, "hang")

    async def give_up():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_calling.call_async([function], _calling.name_of(function), arguments), 0.3)

    asyncio.run(give_up())
    assert platform.gone.wait(5)


def test_arguments_that_are_no_json():
    assert _calling.call(TOOLS, "run_python", "{") == _calling.call(TOOLS, "run_python", "{")
    assert _calling.call(TOOLS, "run_python", "{").text.startswith("The arguments of run_python are no JSON")
    assert _calling.call(TOOLS, "run_python", "[1]").text == "The arguments of run_python are no JSON: they are no object."
    assert "code is missing" in _calling.call(TOOLS, "run_python", "").text


def test_asynchronous_tools_want_the_asynchronous_form():
    with pytest.raises(TypeError, match="search-orders is asynchronous"):
        _calling.call(TOOLS, "search-orders", {"text": "x"})
    with pytest.raises(TypeError, match="run_python is asynchronous"):
        _calling.call((run_python_async,), "run_python", {"code": "1"})


def test_without_a_platform_a_tool_gets_what_its_annotations_say(monkeypatch):
    for name in ("URL", "KEY", "AGENT"):
        monkeypatch.delenv(f"CODE_SANDBOX_{name}")
    answer = _calling.call(TOOLS, "find_order", {"number": 7, "since": "2030-01-02"})
    assert json.loads(answer.text)["placed"] == "2030-01-02" and not answer.is_error
