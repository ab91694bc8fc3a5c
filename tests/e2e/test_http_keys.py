"""Projects and their keys: who may do what, where, and how often."""
import re
import sqlite3
import uuid

import pytest

KEY_FORM = "csk_[0-9a-f]{64}"


def new_name():
    return "p-" + uuid.uuid4().hex[:12]


@pytest.fixture
def project(service):
    name = new_name()
    assert service.post("/v1/projects", {"name": name}).status == 201
    return name


@pytest.fixture
def key(service, project):
    return service.post(f"/v1/projects/{project}/keys", {"label": "a test's key"}).json


def test_a_project_is_made_once(service):
    name = new_name()
    made = service.post("/v1/projects", {"name": name})
    assert made.status == 201 and made.json["name"] == name
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made.json["created_at"])
    again = service.post("/v1/projects", {"name": name})
    assert again.status == 409 and again.error["type"] == "conflict" and again.error["param"] == "name"
    assert service.get(f"/v1/projects/{name}").json == made.json
    assert service.get(f"/v1/projects/{new_name()}").status == 404


@pytest.mark.parametrize("name", ["", "A", "-a", "_a", "a b", "a/b", "ä", "a\n", "a.b", "x" * 64, 5, None, ["a"], "a\0"])
def test_names_that_are_refused(service, name):
    response = service.post("/v1/projects", {"name": name})
    assert response.status == 400 and response.error["param"] == "name"


def test_projects_are_listed_in_pages(service):
    names = sorted(new_name() for _ in range(5))
    for name in names:
        service.post("/v1/projects", {"name": name})
    seen, after = [], ""
    while after is not None:
        page = service.get(f"/v1/projects?limit=2&after={after}").json
        assert len(page["projects"]) <= 2
        seen += [project["name"] for project in page["projects"]]
        after = page["next"]
    assert seen == sorted(seen) and set(names) | {"default"} <= set(seen)
    for limit in ("0", "-1", "1001", "x", "1x", ""):
        response = service.get(f"/v1/projects?limit={limit}")
        assert response.status == 400 and response.error["param"] == "limit"


def test_a_key_is_shown_once(service, project, key):
    assert re.fullmatch(KEY_FORM, key["key"]) and re.fullmatch("key_[0-9A-Z]{26}", key["id"])
    assert key["project"] == project and key["label"] == "a test's key" and key["key"].startswith(key["hint"].rstrip("…"))
    listed = service.get(f"/v1/projects/{project}/keys")
    assert [entry["id"] for entry in listed.json["keys"]] == [key["id"]]
    one = service.get(f"/v1/projects/{project}/keys/{key['id']}")
    assert one.status == 200 and "key" not in one.json
    assert key["key"] not in (listed.body + one.body).decode()


def test_a_projects_key_acts_in_its_project_only(service, project, key):
    run = service.post(body={"code": "print(1)"}, key=key["key"])
    assert run.status == 200 and run.json["stdout"] == "1\n"
    own = {"X-Project": project}
    assert service.get("/v1/environment", key=key["key"], headers=own).status == 200
    for other in ("default", new_name()):
        response = service.get("/v1/environment", key=key["key"], headers={"X-Project": other})
        assert response.status == 404 and response.error["type"] == "not_found"
    for method, path in [("GET", "/v1/status"), ("GET", "/v1/projects"), ("POST", "/v1/projects"), ("GET", f"/v1/projects/{project}"),
                         ("GET", f"/v1/projects/{project}/keys"), ("POST", f"/v1/projects/{project}/keys"),
                         ("DELETE", f"/v1/projects/{project}/keys/{key['id']}")]:
        response = service.request(method, path, {} if method == "POST" else None, key=key["key"])
        assert response.status == 403 and response.error["type"] == "forbidden"
    assert service.get("/v1/environment", key=key["key"]).status == 200


def test_an_admin_key_acts_in_any_project(service, project):
    assert service.get("/v1/environment", headers={"X-Project": project}).status == 200
    response = service.get("/v1/environment", headers={"X-Project": new_name()})
    assert response.status == 404 and response.error["param"] == "X-Project"
    response = service.get("/v1/environment", headers={"X-Project": "A B"})
    assert response.status == 400 and response.error["param"] == "X-Project"


def test_a_revoked_key_is_unknown(service, project, key):
    path = f"/v1/projects/{project}/keys/{key['id']}"
    assert service.request("DELETE", f"/v1/projects/default/keys/{key['id']}").status == 404
    assert service.get("/v1/environment", key=key["key"]).status == 200
    gone = service.request("DELETE", path)
    assert gone.status == 204 and gone.body == b""
    assert service.get("/v1/environment", key=key["key"]).status == 401
    assert service.request("DELETE", path).status == 404 and service.get(path).status == 404


@pytest.mark.parametrize("change", [lambda key: key[:-1], lambda key: key + "0", lambda key: key.upper(), lambda key: key[1:],
                                    lambda key: key[:-1] + ("0" if key[-1] != "0" else "1"), lambda key: "Bearer " + key])
def test_keys_that_are_nearly_right(service, key, change):
    assert service.get("/v1/environment", key=change(key["key"])).status == 401


@pytest.mark.parametrize("scheme, status", [("Bearer", 200), ("bearer", 200), ("BEARER", 200), ("Bearer ", 200), ("Basic", 401),
                                            ("Bearer,", 401), ("Token", 401), ("", 401)])
def test_the_scheme(service, scheme, status):
    headers = {"Authorization": f"{scheme} {service.key}"}
    assert service.get("/v1/environment", headers=headers, key=None).status == status


def test_a_key_in_an_address_is_refused(service, key):
    response = service.get(f"/v1/environment?key={key['key']}")
    assert response.status == 400 and "Authorization" in response.error["message"]
    assert key["key"] not in response.body.decode()


def test_no_key_lies_in_the_data_folder_or_the_log(service, project, key):
    for path in service.data_dir.rglob("*"):
        if path.is_file() and path.name != "admin-key":
            assert key["key"].encode() not in path.read_bytes(), path
    assert key["key"] not in service.log() and key["id"] in service.log()


# ---- a service with settings of its own

@pytest.fixture(scope="module")
def limited(make_service):
    service = make_service({"SANDBOX_RATE_LIMIT": 20, "SANDBOX_WARM_POOL": 1})
    yield service
    assert service.stop() == 0


def test_how_often_a_key_may_ask(limited):
    name = new_name()
    keys = []
    assert limited.post("/v1/projects", {"name": name}).status == 201
    for _ in range(2):
        keys.append(limited.post(f"/v1/projects/{name}/keys", {}).json["key"])
    answers = [limited.get("/v1/environment", key=keys[0]) for _ in range(24)]
    assert [answer.status for answer in answers[:20]] == [200] * 20
    refused = answers[-1]
    assert refused.status == 429 and refused.error["type"] == "rate_limited" and "20" in refused.error["message"]
    assert 1 <= int(refused.headers["Retry-After"]) <= 3
    assert limited.get("/v1/environment", key=keys[1]).status == 200, "another key is not affected"
    assert limited.get("/healthz", key=None).status == 200
    assert limited.get("/v1/environment", key="wrong").status == 401


def test_what_is_stored_survives_and_a_new_admin_key_replaces_the_old(make_service):
    service = make_service({"SANDBOX_WARM_POOL": 1})
    name = new_name()
    assert service.post("/v1/projects", {"name": name}).status == 201
    key = service.post(f"/v1/projects/{name}/keys", {}).json["key"]
    assert service.stop() == 0

    old_key, service.key = service.key, "another-admin-key-0123456789"
    service.settings["SANDBOX_ADMIN_KEY"] = service.key
    service.start()
    assert service.get("/v1/projects/" + name).status == 200
    assert service.get("/v1/projects/" + name, key=old_key).status == 401
    assert service.get("/v1/environment", key=key).status == 200
    assert service.stop() == 0

    with sqlite3.connect(service.data_dir / "service" / "sandbox.db") as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute("PRAGMA user_version = 99")
    service.spawn()
    assert service.process.wait(30) != 0
    assert "schema 99" in service.log() and "newer" in service.log()
    with sqlite3.connect(service.data_dir / "service" / "sandbox.db") as database:
        database.execute(f"PRAGMA user_version = {version}")
    service.start()
    assert service.get("/v1/environment", key=key).status == 200
    assert service.stop() == 0


def test_a_project_key_cannot_be_made_the_admin_key(make_service):
    service = make_service({"SANDBOX_WARM_POOL": 1})
    key = service.post("/v1/projects/default/keys", {}).json["key"]
    assert service.stop() == 0
    service.settings["SANDBOX_ADMIN_KEY"] = key
    service.spawn()
    assert service.process.wait(30) != 0
    assert "SANDBOX_ADMIN_KEY" in service.log() and key not in service.log()
