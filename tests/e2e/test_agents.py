"""Agents and their settings, over HTTP: the HTTP side alone, with a store of its own."""
import uuid

import pytest

SESSION, TIMEOUT = "CODE_INTERPRETER_SESSION", "CODE_INTERPRETER_TIMEOUT_S"
TOOL = {"name": "find_order", "entrypoint": "shop.tools:find_order"}


class Agents:
    def __init__(self, http_side, key):
        self.http_side, self.key = http_side, key

    def ask(self, method, path="", body=None):
        return self.http_side.request(method, f"/v1/agents{path}", body, key=self.key)

    def put(self, name, body=None):
        return self.ask("PUT", f"/{name}", {} if body is None else body)

    def set(self, name, key, value):
        return self.ask("PUT", f"/{name}/env/{key}", {"value": value})


@pytest.fixture
def agents(http_side, http_project):
    return Agents(http_side, http_project[1])


def test_an_agent_is_made_changed_and_deleted(agents):
    made = agents.put("shop", {"tools": [TOOL]})
    assert made.status == 201
    assert made.json["name"] == "shop" and made.json["image"] is None
    assert made.json["tools"] == [{**TOOL, "description": "", "parameters": {"type": "object", "properties": {}}}]
    assert made.json["stateful"] is False and made.json["timeout_s"] == 20
    assert agents.ask("GET", "/shop").json == made.json

    again = agents.put("shop")
    assert again.status == 200 and again.json["tools"] == made.json["tools"], "what is left out stays"
    assert agents.put("shop", {"tools": []}).json["tools"] == []

    gone = agents.ask("DELETE", "/shop")
    assert gone.status == 204 and gone.body == b""
    for method in ("GET", "DELETE"):
        response = agents.ask(method, "/shop")
        assert response.status == 404 and '"shop"' in response.error["message"]


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "0", "x" * 64])
def test_names_that_are_taken(agents, name):
    assert agents.put(name).status == 201
    assert agents.ask("GET", f"/{name}").json["name"] == name


@pytest.mark.parametrize("name", ["-a", ".a", "_a", "a%20b", "%C3%A4", "x" * 65, "a%2Fb", "a%0A", ".."])
def test_names_that_are_refused(agents, name):
    response = agents.put(name)
    assert response.status == 400 and response.error["param"] == "name" and "1 to 64" in response.error["message"]
    assert agents.ask("GET", f"/{name}").status == 404


@pytest.mark.parametrize("image, words", [("/etc/passwd", "docker://"), ("file:///etc", "docker://"),
                                          ("docker://", "docker://"),
                                          ("docker://registry.example/shop:1", "allows none")])
def test_images_are_refused(service, image, words):
    """By the real service, which would fetch them."""
    response = service.request("PUT", "/v1/agents/of-no-image", {"image": image})
    assert response.status == 400 and response.error["param"] == "image" and words in response.error["message"]
    assert service.get("/v1/agents/of-no-image").status == 404


@pytest.mark.parametrize("body, param", [
    ({"x": 1}, "x"), ({"tools": {}}, "tools"), ({"tools": [TOOL, TOOL]}, "tools[1].name"), ({"image": 5}, "image"),
    ({"tools": [{**TOOL, "entrypoint": "shop"}]}, "tools[0].entrypoint"),
    ({"tools": [{**TOOL, "more": 1}]}, "tools[0].more"),
    ({"tools": [TOOL] * 129}, "tools")])
def test_bodies_that_are_refused(agents, body, param):
    response = agents.put("shop", body)
    assert response.status == 400 and response.error["param"] == param, response


def test_agents_are_listed_in_pages(agents):
    names = sorted(uuid.uuid4().hex for _ in range(5))
    for name in names:
        agents.put(name, {"tools": [TOOL]})
    seen, after = [], ""
    while after is not None:
        page = agents.ask("GET", f"?limit=2&after={after}").json
        assert len(page["agents"]) <= 2 and all("tools" not in agent for agent in page["agents"])
        seen += [agent["name"] for agent in page["agents"]]
        after = page["next"]
    assert seen == names
    for limit in ("0", "201", "x"):
        assert agents.ask("GET", f"?limit={limit}").error["param"] == "limit"


def test_agents_belong_to_their_project(http_side, agents):
    agents.put("shop")
    agents.set("shop", "SECRET", "x")
    other = Agents(http_side, http_side.new_project()[1])
    for method, path, body in [("GET", "/shop", None), ("DELETE", "/shop", None), ("GET", "/shop/env", None),
                               ("PUT", "/shop/env/A", {"value": "x"}), ("DELETE", "/shop/env/SECRET", None)]:
        response = other.ask(method, path, body)
        assert response.status == 404 and response.error["type"] == "not_found", (method, path)
    assert other.ask("GET").json == {"agents": [], "next": None}
    assert other.put("shop").status == 201, "a name is of one project"
    assert agents.ask("GET", "/shop/env").json["env"] == {"SECRET": "x"}


def test_settings(agents):
    agents.put("shop")
    assert agents.ask("GET", "/shop/env").json == {"env": {}, "effective": {"stateful": False, "timeout_s": 20},
                                                   "warnings": []}

    on = agents.set("shop", SESSION, "true")
    assert on.status == 200
    assert on.json == {"name": SESSION, "value": "true", "effective": {"stateful": True, "timeout_s": 20},
                       "warnings": []}
    assert agents.set("shop", TIMEOUT, "45").json["effective"] == {"stateful": True, "timeout_s": 45}
    assert agents.set("shop", "OWN", "").json["warnings"] == []
    whole = agents.ask("GET", "/shop/env").json
    assert whole["env"] == {SESSION: "true", TIMEOUT: "45", "OWN": ""} and whole["warnings"] == []
    shown = agents.ask("GET", "/shop").json
    assert shown["stateful"] is True and shown["timeout_s"] == 45

    assert agents.ask("DELETE", f"/shop/env/{SESSION}").status == 204
    assert agents.ask("DELETE", f"/shop/env/{SESSION}").status == 404
    assert agents.ask("GET", "/shop/env").json["effective"] == {"stateful": False, "timeout_s": 45}
    agents.ask("DELETE", "/shop")
    agents.put("shop")
    assert agents.ask("GET", "/shop/env").json["env"] == {}, "settings go with their agent"


def test_a_limit_above_the_platforms_is_stored_with_a_warning(agents):
    agents.put("shop")
    reply = agents.set("shop", TIMEOUT, "90").json
    assert reply["value"] == "90" and reply["effective"]["timeout_s"] == 60
    (warning,) = reply["warnings"]
    assert "SANDBOX_EXECUTE_MAX_TIMEOUT_S" in warning and "60 s is the effective limit" in warning
    assert agents.ask("GET", "/shop/env").json["warnings"] == [warning]
    assert agents.set("shop", TIMEOUT, "60").json["warnings"] == []


@pytest.mark.parametrize("key, value", [
    (SESSION, "TRUE"), (SESSION, "1"), (SESSION, "yes"), (SESSION, ""), (SESSION, " true"), (TIMEOUT, "0"),
    (TIMEOUT, "121"),
    (TIMEOUT, "1.5"), (TIMEOUT, "20 "), (TIMEOUT, "+5"), (TIMEOUT, "-5"), (TIMEOUT, "05"), (TIMEOUT, "1e1"),
    (TIMEOUT, ""),
    (TIMEOUT, "99999999999999999999"), (TIMEOUT, "٢٠")])
def test_values_that_are_refused(agents, key, value):
    agents.put("shop")
    response = agents.set("shop", key, value)
    assert response.status == 400 and response.error["param"] == "value" and key in response.error["message"]
    assert agents.ask("GET", "/shop/env").json["env"] == {}


@pytest.mark.parametrize("value", ["1", "120", "20"])
def test_limits_that_are_taken(agents, value):
    agents.put("shop")
    assert agents.set("shop", TIMEOUT, value).status == 200


@pytest.mark.parametrize("body, param", [({}, "value"), ({"value": 5}, "value"), ({"value": None}, "value"),
                                         ({"value": "a\0b"}, "value"),
                                         ({"value": "x" * 32769}, "value"), ({"value": "x", "y": 1}, "y")])
def test_settings_that_are_no_texts(agents, body, param):
    agents.put("shop")
    response = agents.ask("PUT", "/shop/env/OWN", body)
    assert response.status == 400 and response.error["param"] == param, response


@pytest.mark.parametrize("name", ["1A", "A-B", "A%20", "%C3%84", "A" * 129, "A%3DB"])
def test_names_of_settings_that_are_refused(agents, name):
    agents.put("shop")
    response = agents.set("shop", name, "x")
    assert response.status == 400 and response.error["param"] == "name"


def test_a_value_may_be_long_and_of_any_text(agents):
    agents.put("shop")
    for value in ("\x01" * 32768, "ä€𝄞\n\"\\"):
        assert agents.set("shop", "OWN", value).json["value"] == value
        assert agents.ask("GET", "/shop/env").json["env"]["OWN"] == value


def test_an_agent_has_so_many_settings(agents):
    agents.put("shop")
    for i in range(200):
        assert agents.set("shop", f"N{i}", "x").status == 200
    response = agents.set("shop", "MORE", "x")
    assert response.status == 409 and "200" in response.error["message"] and response.error["param"] == "name"
    assert agents.set("shop", "N7", "y").status == 200, "one that is there can be changed"
