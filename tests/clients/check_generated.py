"""Uses the client that openapi-python-client has made of docs/openapi.json: check_generated.py FOLDER URL KEY.

Run by tests/e2e/test_openapi.py. FOLDER holds the package `generated`.
"""
import sys

folder, url, key = sys.argv[1:]
sys.path.insert(0, folder)

from generated import AuthenticatedClient  # noqa: E402
from generated.api.admin import create_project, list_projects  # noqa: E402
from generated.api.agents import delete_agent, put_agent, put_setting  # noqa: E402
from generated.api.conversations import get_conversation, get_file, list_files, list_runs  # noqa: E402
from generated.api.runs import execute  # noqa: E402
from generated.models import AgentPut, Error, ExecuteRequest, InputFile, ProjectCreate, SettingPut  # noqa: E402

client = AuthenticatedClient(base_url=url, token=key)

reply = execute.sync(client=client, body=ExecuteRequest(
    code="print(open('in.txt').read()); open('out.txt', 'w').write('made'); 6 * 7", conversation_id="generated",
    files=[InputFile(name="in.txt", content="given")]))
assert (reply.outcome, reply.exit_code, reply.stdout, reply.hint) == ("ok", 0, "given\n", None), reply
assert reply.results[0].additional_properties["text/plain"] == "42", reply
assert get_conversation.sync("generated", client=client).run_count == 1
assert list_runs.sync("generated", client=client).runs[0].run_id == reply.run_id
(file,) = list_files.sync("generated", client=client).files
assert (file.name, file.size, file.file_id) == ("out.txt", 4, reply.files[0].file_id), file
assert get_file.sync(file.file_id, client=client).payload.read() == b"made"

assert put_agent.sync_detailed("generated", client=client, body=AgentPut()).status_code == 201
setting = put_setting.sync("generated", "CODE_INTERPRETER_SESSION", client=client, body=SettingPut(value="true"))
assert setting.effective.stateful is True, setting
assert delete_agent.sync_detailed("generated", client=client).status_code == 204

assert create_project.sync(client=client, body=ProjectCreate(name="generated")).name == "generated"
assert "generated" in [project.name for project in list_projects.sync(client=client).projects]
refused = create_project.sync(client=client, body=ProjectCreate(name="generated"))
assert isinstance(refused, Error) and refused.error.type_ == "conflict", refused
