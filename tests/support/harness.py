"""The HTTP side of the service alone (tests/unit/http_harness.c), with a store of its own: no root, no sandbox, a
hundredth of a second to start. Runs can be kept in it without being run."""
import base64
import os
import subprocess
import uuid

from support.client import Client
from support.service import PROGRAM

HARNESS = PROGRAM.parent / "tests" / "unit" / "http_harness"
KEY = "key-of-the-http-side"


class HttpSide(Client):
    def __init__(self, request_timeout_s=30, connections_per_address=1000, body_max_bytes=32 << 20, console="on",
                 console_session_s=43200, log=None, conversation_ttl_s=86400):
        """`log`: a file that takes everything it logs, at the level debug."""
        assert HARNESS.exists(), f"{HARNESS} is not built: ninja -C {PROGRAM.parent} tests/unit/http_harness"
        settings = map(str, (request_timeout_s, connections_per_address, body_max_bytes, console, console_session_s,
                             conversation_ttl_s))
        environment = {**os.environ, "HARNESS_DEBUG": "1"} if log else None
        self.process = subprocess.Popen([HARNESS, KEY, *settings], stdout=subprocess.PIPE, stderr=log, env=environment)
        super().__init__(int(self.process.stdout.readline()), KEY)

    def stop(self):
        self.process.terminate()
        return self.process.wait(10)

    def new_project(self):
        """Its name and a key of it."""
        name = "p-" + uuid.uuid4().hex[:12]
        assert self.post("/v1/projects", {"name": name}).status == 201
        return name, self.post(f"/v1/projects/{name}/keys", {}).json["key"]

    def keep(self, conversation, files=(), key=None, **fields):
        """{"run_id", "files": [ids]} of a run that is kept as if it had been run. `files`: (name, type, bytes)."""
        listed = [{"name": name, "media_type": kind, "content_base64": base64.b64encode(content).decode()}
                  for name, kind, content in files]
        response = self.post(body={"conversation": conversation, "files": listed, **fields}, key=key or self.key,
                             headers={"X-Test": "keep"})
        assert response.status == 200, response
        return response.json
