"""A model that says what a test has written down: a server of OpenAI's chat completions and responses, and Anthropic's
messages, on the loopback interface.

The script is a generator. It yields what the model says: Call(...) asks for a tool, several in a list ask at once, and
a text ends the answer. What it is sent is what the program told the model since: Told(text, charts, tools). So it can
check that, and do something in between. When a script has ended, the next question begins the next one.

    def script():
        told = yield
        told = yield run("print(6 * 7)")
        assert "42" in told.text
        yield "It is 42."
"""
import base64
import dataclasses
import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclasses.dataclass
class Call:
    arguments: dict
    name: str = "run_python"


@dataclasses.dataclass
class Told:
    text: str  # all that came since the model's last word, whatever messages it is spread over
    charts: list  # PNG
    tools: dict  # {name: description} of all that the model may ask for


def run(code, **more):
    return Call({"code": code, **more})


# ---- reading: each of the three forms of a request


def picture(url):
    return base64.b64decode(url.partition("base64,")[2])


def parts_of(content):
    """(texts, pictures) of a message's content, in any of the forms."""
    texts, pictures = [], []
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
        kind = part["type"]
        if kind in ("text", "input_text"):
            texts.append(part["text"])
        elif kind == "image_url":
            pictures.append(picture(part["image_url"]["url"]))
        elif kind == "input_image":
            pictures.append(picture(part["image_url"]))
        elif kind == "image":
            pictures.append(base64.b64decode(part["source"]["data"]))
        elif kind == "tool_result":
            inner = parts_of(part["content"])
            texts += inner[0]
            pictures += inner[1]
    return texts, pictures


def is_the_model_s(message):
    return message.get("role") == "assistant" or message.get("type") in ("function_call", "reasoning")


def told_by(request):
    messages = request.get("messages") or request["input"]
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    last = max((number for number, message in enumerate(messages) if is_the_model_s(message)), default=-1)
    texts, pictures = [], []
    for message in messages[last + 1 :]:
        found = parts_of(message.get("output", message.get("content")))
        texts += found[0]
        pictures += found[1]
    tools = [tool.get("function", tool) for tool in request.get("tools", [])]
    return Told("\n".join(texts), pictures, {tool["name"]: tool.get("description", "") for tool in tools})


# ---- writing


class Writer:
    """Answers in one of the forms; each call gets an id of its own."""

    def __init__(self, numbers):
        self.numbers = numbers

    def calls(self, said):
        return [(f"call_{next(self.numbers)}", call) for call in said]

    def chat(self, said, _):
        message = {"role": "assistant", "content": said if isinstance(said, str) else None}
        if not isinstance(said, str):
            message["tool_calls"] = [
                {"id": key, "type": "function",
                 "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
                for key, call in self.calls(said)]
        choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(said, str) else "tool_calls"}
        return {"id": f"chat_{next(self.numbers)}", "object": "chat.completion", "created": 1, "model": "scripted",
                "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}

    def responses(self, said, request):
        if isinstance(said, str):
            output = [{"type": "message", "id": f"m_{next(self.numbers)}", "role": "assistant", "status": "completed",
                       "content": [{"type": "output_text", "text": said, "annotations": []}]}]
        else:
            output = [{"type": "function_call", "id": f"fc_{key}", "call_id": key, "name": call.name,
                       "status": "completed", "arguments": json.dumps(call.arguments)}
                      for key, call in self.calls(said)]
        return {"id": f"resp_{next(self.numbers)}", "object": "response", "created_at": 1, "model": "scripted",
                "output": output, "status": "completed", "parallel_tool_calls": True, "tool_choice": "auto",
                "tools": request.get("tools", []), "usage": {
                    "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                    "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}}

    def messages(self, said, _):
        content = [{"type": "text", "text": said}] if isinstance(said, str) else [
            {"type": "tool_use", "id": key, "name": call.name, "input": call.arguments}
            for key, call in self.calls(said)]
        return {"id": f"msg_{next(self.numbers)}", "type": "message", "role": "assistant", "model": "scripted",
                "content": content, "stop_sequence": None,
                "stop_reason": "end_turn" if isinstance(said, str) else "tool_use",
                "usage": {"input_tokens": 1, "output_tokens": 1}}


def chunks_of(answer):
    """An answer of chat completions, streamed: all of it in one piece, and the end."""
    (choice,) = answer["choices"]
    delta = dict(choice["message"])
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": number, **call} for number, call in enumerate(delta["tool_calls"])]
    for given, reason in ((delta, None), ({}, choice["finish_reason"])):
        yield {**answer, "object": "chat.completion.chunk", "usage": None,
               "choices": [{"index": 0, "delta": given, "finish_reason": reason}]}


FORMS = {"/v1/chat/completions": Writer.chat, "/v1/responses": Writer.responses, "/v1/messages": Writer.messages}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, kind, raw):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        form = FORMS.get(self.path.partition("?")[0])
        said = self.server.model.say(request) if form else None
        if said is None:  # no client tries a 400 again
            error = {"type": "script", "message": "the script has failed or ended"}
            self.send(400, "application/json", json.dumps({"error": error}).encode())
            return
        answer = form(self.server.writer, said, request)
        if not request.get("stream"):
            self.send(200, "application/json", json.dumps(answer).encode())
            return
        assert form is Writer.chat, "only chat completions are streamed here"
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks_of(answer)] + ["data: [DONE]\n\n"]
        self.send(200, "text/event-stream", "".join(events).encode())


class ModelServer:
    """`failure` is what a script has raised; finish() raises it again, and wants all scripts to have ended."""

    def __init__(self, *scripts):
        self.scripts, self.current, self.failure = list(scripts), None, None
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.model, self.server.writer = self, Writer(itertools.count(1))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def environment(self):
        """What the clients of models read."""
        address = f"{self.url}/v1"
        return {"OPENAI_BASE_URL": address, "OPENAI_API_BASE": address, "OPENAI_API_KEY": "key-of-the-model",
                "ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "key-of-the-model"}

    def say(self, request):
        with self.lock:
            try:
                if self.current is None:
                    self.current = self.scripts.pop(0)
                    next(self.current)
                said = self.current.send(told_by(request))
            except BaseException as problem:  # shown by the test
                self.failure, self.current = self.failure or problem, None
                return None
            if isinstance(said, str):
                self.current = None
                if "final_answer" in told_by(request).tools:  # some frameworks want a call for that, too
                    return [Call({"answer": said}, "final_answer")]
            return [said] if isinstance(said, Call) else said

    def finish(self, output=""):
        """`output`: what the program has printed."""
        if self.failure:
            raise self.failure
        ended = not self.scripts and self.current is None
        assert ended, f"the program has not asked to the end of the script:\n{output}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
