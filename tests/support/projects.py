"""Projects of a running service, each with a key of its own: what one test keeps does not get in the way of another."""
import itertools
import threading

from support.client import Client, Refused, dedent

numbers = itertools.count(1)


class Project(Client):
    """A client with the key of a fresh project, in which there is an agent `notebook` with a stateful interpreter."""

    def __init__(self, service):
        self.service, self.name = service, f"test-{next(numbers)}"
        super().__init__(service.port, service.key)
        self.leaks = service.leaks
        assert self.post("/v1/projects", {"name": self.name}).status == 201
        self.key = self.post(f"/v1/projects/{self.name}/keys", {}).json["key"]
        self.agent("notebook", CODE_INTERPRETER_SESSION="true")

    def agent(self, name, **env):
        assert self.request("PUT", f"/v1/agents/{name}", {}).status in (200, 201)
        for key, value in env.items():
            self.set(name, key, value)

    def set(self, agent, key, value):
        response = self.request("PUT", f"/v1/agents/{agent}/env/{key}", {"value": value})
        assert response.status == 200, response
        return response.json

    def call(self, code, conversation="talk", **fields):
        """A call in the stateful interpreter of a conversation."""
        return self.execute(dedent(code), **{"agent": "notebook", "conversation_id": conversation, **fields})

    def refused(self, code, conversation="talk", **fields):
        try:
            reply = self.call(code, conversation, **fields)
        except Refused as refusal:
            return refusal.response
        raise AssertionError(f"was not refused: {reply!r}")

    def end_session(self, conversation="talk"):
        return self.request("DELETE", f"/v1/conversations/{conversation}/session")

    def delete(self, conversation="talk"):
        return self.request("DELETE", f"/v1/conversations/{conversation}")

    def sessions(self):
        return self.get("/v1/sessions").json["sessions"]

    def file(self, described):
        """The content of a kept file, by what a reply says of it."""
        response = self.get(described["url"])
        assert response.status == 200, response
        return response.body

    def start(self, code, conversation="talk", **fields):
        """The same as call, in a thread: `join` gives the reply."""
        return Waiting(self, code, conversation, fields)


class Waiting(threading.Thread):
    def __init__(self, project, code, conversation, fields):
        super().__init__(daemon=True)
        self.work = lambda: project.call(code, conversation, **fields)
        self.reply = self.problem = None
        self.start()

    def run(self):
        try:
            self.reply = self.work()
        except BaseException as problem:
            self.problem = problem

    def result(self):
        self.join(120)
        assert not self.is_alive(), "the call is not over after 120 s"
        if self.problem:
            raise self.problem
        return self.reply
