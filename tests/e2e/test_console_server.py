"""The server's side of the Console: its files, signing in, and what the cookie is good for.

Runs the HTTP side of the api process alone, but for the last tests, which look at the real, jailed service.
"""
import gzip
import http.client
import json
import re
import time
import uuid

import pytest

from support.client import Response
from support.harness import KEY, HttpSide

TOKEN = "[0-9a-f]{64}"
COOKIE = "console_session"
COMMON = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
NOTHING_FOREIGN = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                   "font-src 'self'",
                   "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "frame-src 'none'",
                   "img-src 'self' data: blob:", "require-trusted-types-for 'script'")


class Browser:
    """What a browser sends: the cookie, and where the request comes from."""

    def __init__(self, side, key=KEY, **headers):
        self.side, self.csrf, self.cookie = side, None, None
        if key:
            self.reply = sign_in(side, key, **headers)
            assert self.reply.status == 200, self.reply
            self.cookie = re.match(rf"{COOKIE}=({TOKEN});", self.reply.headers["Set-Cookie"])[1]
            self.csrf = self.reply.json["csrf_token"]

    def request(self, method, path, body=None, csrf=True, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent.setdefault("Cookie", f"other=1; {COOKIE}={self.cookie}")
        if csrf and method not in ("GET", "HEAD"):
            sent.setdefault("X-CSRF-Token", self.csrf)
        return self.side.request(method, path, body, headers=sent, key=None)

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def is_signed_in(self):
        status = self.get("/console/session").status
        assert status == self.get("/v1/conversations").status and status in (200, 401)
        return status == 200


def sign_in(side, key, **headers):
    return side.request("POST", "/console/login", {"key": key}, key=None,
                        headers={name.replace("_", "-"): value for name, value in headers.items()})


def own(side):
    return f"http://127.0.0.1:{side.port}"


@pytest.fixture(scope="module")
def side():
    running = HttpSide()
    yield running
    assert running.stop() == 0


@pytest.fixture
def make_side():
    made = []

    def make(**settings):
        made.append(HttpSide(**settings))
        return made[-1]

    yield make
    for running in made:
        assert running.stop() == 0


@pytest.fixture
def browser(side):
    return Browser(side)


def names_of_assets(side):
    page = side.get("/console/", key=None)
    assert page.status == 200
    return sorted(set(re.findall(r'(?:href|src)="(/console/assets/[^"]+)"', page.body.decode())))


# ---- files

def check_headers(response):
    for name, value in COMMON.items():
        assert response.headers.get_all(name) == [value], (name, response.headers.get_all(name))
    (policy,) = response.headers.get_all("Content-Security-Policy")
    parts = [part.strip() for part in policy.split(";")]
    assert set(NOTHING_FOREIGN) <= set(parts)
    assert "unsafe" not in policy and "*" not in policy and "http" not in policy
    assert "camera=()" in response.headers["Permissions-Policy"]
    assert len(response.headers.get_all("Cache-Control")) == 1


@pytest.mark.parametrize("method, path, body, status", [
    ("GET", "/console/", None, 200), ("GET", "/console/conversations/a.b:c", None, 200),
    ("GET", "/console/gone.js", None, 404),
    ("GET", "/console/assets/gone.js", None, 404), ("GET", "/console/%2e%2e/x", None, 404),
    ("GET", "/console", None, 308),
    ("POST", "/console/", {}, 405), ("PUT", "/console/login", {}, 405), ("GET", "/console/session", None, 401),
    ("POST", "/console/login", {"key": "wrong"}, 401), ("POST", "/console/login", {}, 400),
    ("POST", "/console/login", b"x" * 100_000, 413), ("POST", "/console/login", b"[]", 400),
    ("POST", "/console/logout", {}, 204), ("GET", "/console/?key=csk_1", None, 400), ("HEAD", "/console/", None, 200),
])
def test_every_reply_has_the_headers(make_side, method, path, body, status):
    response = make_side().request(method, path, body, key=None)
    assert response.status == status, response
    check_headers(response)
    if status >= 400:
        assert response.error["type"] and "\r" not in response.error["message"]


def test_a_body_of_another_type_is_no_sign_in(side):
    response = side.request("POST", "/console/login", json.dumps({"key": KEY}).encode(), key=None,
                            headers={"Content-Type": "text/plain"})
    assert response.status == 415 and "Set-Cookie" not in response.headers


def test_the_page_is_asked_for_again_and_its_files_are_not(side):
    page = side.get("/console/", key=None)
    assert page.headers["Cache-Control"] == "no-cache" and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assets = names_of_assets(side)
    assert len(assets) >= 2
    for path in assets:
        response = side.get(path, key=None)
        assert response.status == 200 and response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert re.search(r"-[A-Z0-9]{8}\.", path)
        check_headers(response)


def test_the_page_has_nothing_inline(side):
    page = side.get("/console/", key=None).body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", page) and "<style" not in page
    assert not re.search(r"\s(?:style|on\w+)=", page) and not re.search(r"(?:https?:)?//", page)


def test_what_is_known_is_not_sent_again(side):
    for path in ["/console/", *names_of_assets(side)]:
        for encoding in ("gzip", "identity"):
            accept = {"Accept-Encoding": encoding}
            first = side.get(path, key=None, headers=accept)
            again = side.get(path, key=None, headers={**accept, "If-None-Match": f'"x", {first.headers["ETag"]}'})
            assert (again.status, again.body, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
            assert again.headers["Cache-Control"] == first.headers["Cache-Control"]
            check_headers(again)
            assert side.get(path, key=None, headers={**accept, "If-None-Match": '"x"'}).status == 200


def test_what_is_large_is_sent_compressed(side):
    saved = 0
    for path in ["/console/", *names_of_assets(side)]:
        plain = side.get(path, key=None, headers={"Accept-Encoding": "br"})
        packed = side.get(path, key=None, headers={"Accept-Encoding": "br, gzip"})
        assert "Content-Encoding" not in plain.headers
        if packed.headers.get("Content-Encoding") == "gzip":
            assert gzip.decompress(packed.body) == plain.body and len(packed.body) < len(plain.body)
            assert packed.headers["ETag"] != plain.headers["ETag"]
            assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"
            saved += len(plain.body) - len(packed.body)
        else:
            assert packed.body == plain.body
    assert saved > 0


def test_head_is_get_without_the_body(side):
    for path in ["/console/", "/console/gone.js", *names_of_assets(side)]:
        get, head = side.get(path, key=None), side.request("HEAD", path, key=None)
        assert (head.status, head.body) == (get.status, b"")
        for name in ("Content-Length", "Content-Type", "ETag", "Cache-Control", "Content-Security-Policy"):
            assert head.headers[name] == get.headers[name]


@pytest.mark.parametrize("path", [
    "../etc/passwd", "..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "assets/../../etc/passwd",
    "assets/%2e%2e%2findex.html", "./index.html", "a/../index.html", "..%5cetc", "%2fetc%2fpasswd", "/etc/passwd",
    "assets//etc/passwd", "assets/%00", "assets/.git/config",
])
def test_paths_lead_nowhere_else(side, path):
    response = side.get("/console/" + path, key=None)
    page = side.get("/console/", key=None).body
    assert b"root:" not in response.body
    assert response.status in (400, 404) or response.body == page
    if ".." in path or "%2e" in path or path.startswith("./"):
        assert response.status == 404 or path == "..%5cetc"


# ---- signing in

def test_a_cookie_no_script_can_read_and_no_other_site_sends(side):
    browser = Browser(side)
    (cookie,) = browser.reply.headers.get_all("Set-Cookie")
    assert re.fullmatch(rf"{COOKIE}={TOKEN}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict", cookie)
    assert browser.reply.headers["Cache-Control"] == "no-store"
    check_headers(browser.reply)
    reply = browser.reply.json
    assert set(reply) == {"project", "is_admin", "csrf_token", "expires_at", "idle_seconds", "version"}
    assert (reply["project"], reply["is_admin"], reply["idle_seconds"]) == ("default", True, 3600)
    assert re.fullmatch(TOKEN, reply["csrf_token"]) and browser.cookie not in browser.reply.body.decode()
    left = time.mktime(time.strptime(reply["expires_at"], "%Y-%m-%dT%H:%M:%SZ")) - time.mktime(time.gmtime())
    assert 43190 < left <= 43201
    again = browser.get("/console/session")
    assert again.status == 200 and {**again.json, "expires_at": 0} == {**reply, "expires_at": 0}
    assert "Set-Cookie" not in again.headers


@pytest.mark.parametrize("scheme, secure", [("https", True), ("https, http", True), ("http", False), (None, False)])
def test_it_is_for_tls_where_there_is_tls(side, scheme, secure):
    headers = {"X_Forwarded_Proto": scheme} if scheme else {}
    cookie = sign_in(side, KEY, **headers).headers["Set-Cookie"]
    assert cookie.endswith("; Secure") == secure


def test_the_setting_https_makes_every_cookie_secure(make_side):
    assert sign_in(make_side(console="https"), KEY).headers["Set-Cookie"].endswith("; Secure")


def test_switched_off_there_is_nothing(make_side):
    off = make_side(console="off")
    for path in ("/console/", "/console", "/console/session", "/console/index.html"):
        assert off.get(path, key=None).status == 404
    assert sign_in(off, KEY).status == 404
    response = off.get("/v1/conversations", key=None, headers={"Cookie": f"{COOKIE}={'0' * 64}"})
    assert response.status == 401 and "Authorization" in response.error["message"]
    assert off.get("/v1/conversations").status == 200


def test_a_projects_key_sees_its_project(side):
    name, key = side.new_project()
    browser = Browser(side, key)
    assert (browser.reply.json["project"], browser.reply.json["is_admin"]) == (name, False)
    side.keep("mine", key=key)
    assert [one["conversation_id"] for one in browser.get("/v1/conversations").json["conversations"]] == ["mine"]
    for path in ("/v1/status", "/v1/projects"):
        response = browser.get(path)
        assert response.status == 403 and response.error["type"] == "forbidden"
    assert browser.get("/v1/conversations", X_Project="default").status == 404
    assert browser.get("/v1/conversations?project=default").status == 404
    assert browser.get(f"/v1/conversations?project={name}").status == 200


def test_an_admin_looks_into_any_project(side, browser):
    name, key = side.new_project()
    run = side.keep("theirs", [("a.txt", "text/plain", b"content")], key=key)
    path = f"/v1/files/{run['files'][0]}"
    assert browser.get(path).status == 404
    assert browser.get(path, X_Project=name).body == b"content"
    assert browser.get(f"{path}?project={name}").body == b"content"
    assert browser.get(f"{path}?project=default", X_Project=name).body == b"content"  # the header has precedence
    assert browser.get(f"{path}?project=no-such").status == 404
    assert browser.get(f"{path}?project=A%20B").status == 400
    # With a key there is the header, and the query means nothing.
    assert side.get(f"{path}?project={name}").status == 404


def test_signing_out_ends_it(browser):
    other = Browser(browser.side)
    response = browser.request("POST", "/console/logout")
    assert response.status == 204
    assert response.headers["Set-Cookie"] == f"{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
    assert not browser.is_signed_in() and other.is_signed_in()
    assert browser.request("POST", "/console/logout").status == 204


def test_signing_in_again_ends_the_session_before(side):
    first, bystander = Browser(side), Browser(side)
    assert sign_in(side, "wrong", Cookie=f"{COOKIE}={first.cookie}").status == 401 and first.is_signed_in()
    again = Browser(side, Cookie=f"{COOKIE}={first.cookie}")
    assert again.is_signed_in() and bystander.is_signed_in() and not first.is_signed_in()
    assert again.cookie != first.cookie and again.csrf != first.csrf


def test_a_revoked_key_ends_its_sessions(side):
    name, key = side.new_project()
    (listed,) = side.get(f"/v1/projects/{name}/keys").json["keys"]
    other_key = side.post(f"/v1/projects/{name}/keys", {}).json["key"]
    browsers = [Browser(side, key), Browser(side, key)]
    other = Browser(side, other_key)
    assert all(browser.is_signed_in() for browser in browsers)
    assert side.request("DELETE", f"/v1/projects/{name}/keys/{listed['id']}").status == 204
    assert not any(browser.is_signed_in() for browser in browsers) and other.is_signed_in()
    assert sign_in(side, key).status == 401


def test_it_ends_after_its_time(make_side):
    browser = Browser(make_side(console_session_s=2))
    assert "Max-Age=2;" in browser.reply.headers["Set-Cookie"] and browser.reply.json["idle_seconds"] == 2
    began = time.monotonic()
    while time.monotonic() < began + 1.5:
        assert browser.is_signed_in()
        time.sleep(0.2)
    time.sleep(max(0, began + 2.2 - time.monotonic()))
    assert not browser.is_signed_in()


@pytest.mark.parametrize("cookie", [
    "{name}=", "{name}=x", "{name}={zeros}", "{name}={mine}0", "{name}={short}", "{NAME}={mine}",
    "{name}={mine}; {name}={mine}", "{name}={zeros}; {name}={mine}", "x{name}={mine}", "{name} = {mine}",
    "{name}=\"{mine}\"",
])
def test_cookies_that_are_none(browser, cookie):
    text = cookie.format(name=COOKIE, NAME=COOKIE.upper(), mine=browser.cookie, zeros="0" * 64,
                         short=browser.cookie[:-1])
    response = browser.get("/v1/conversations", Cookie=text)
    assert response.status == 401 and response.error["type"] == "unauthorized"
    assert browser.is_signed_in()


def test_two_cookie_headers_are_refused(browser):
    connection = browser.side.connect()
    connection.putrequest("GET", "/v1/conversations")
    for value in ("a=1", f"{COOKIE}={browser.cookie}"):
        connection.putheader("Cookie", value)
    connection.endheaders()
    assert connection.getresponse().status == 400
    connection.close()


def test_a_key_comes_before_a_cookie(side, browser):
    """A proxy may ask for a password of its own; a program that has a key needs no token."""
    cookie = {"Cookie": f"{COOKIE}={browser.cookie}"}
    name = "p-" + uuid.uuid4().hex[:12]
    assert side.post("/v1/projects", {"name": name}, headers=cookie).status == 201
    assert side.get("/v1/conversations", headers=cookie, key="wrong").status == 401
    assert browser.get("/v1/conversations", Authorization="Basic dTpw").status == 200


# ---- requests that other pages make

CHANGES = [("POST", "/v1/projects", {"name": "forged"}), ("PUT", "/v1/agents/forged", {}),
           ("DELETE", "/v1/agents/forged", None),
           ("POST", "/v1/execute", {"code": "1"}),
           ("PUT", "/v1/agents/forged/env/CODE_INTERPRETER_SESSION", {"value": "true"}),
           ("DELETE", "/v1/conversations/forged", None), ("DELETE", "/v1/conversations/forged/session", None),
           ("POST", "/console/logout", {})]


@pytest.mark.parametrize("method, path, body", CHANGES, ids=[f"{method} {path}" for method, path, _ in CHANGES])
def test_a_change_needs_the_token(side, browser, method, path, body):
    other = Browser(side)
    for token in (None, "", "0" * 64, browser.cookie, other.csrf, browser.csrf[:-1], browser.csrf + "0",
                  browser.csrf.upper() + "x"):
        headers = {} if token is None else {"X_CSRF_Token": token}
        response = browser.request(method, path, body, csrf=False, **headers)
        assert response.status == 403 and response.error["type"] == "forbidden"
        assert response.error["param"] == "X-CSRF-Token"
    assert browser.is_signed_in()
    assert side.get("/v1/agents/forged").status == side.get("/v1/projects/forged").status == 404


def test_with_the_token_changes_are_made(side, browser):
    name = "p-" + uuid.uuid4().hex[:12]
    assert browser.request("POST", "/v1/projects", {"name": name}, Origin=own(side),
                           Sec_Fetch_Site="same-origin").status == 201
    key = browser.request("POST", f"/v1/projects/{name}/keys", {"label": "new"})
    assert key.status == 201 and side.get("/v1/conversations", key=key.json["key"]).status == 200
    assert browser.request("POST", "/v1/execute", {"code": "1"}).status == 200


FOREIGN = [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://127.0.0.1.evil.example"},
           {"Origin": "http://127.0.0.1:1"},
           {"Origin": "http://127.0.0.1"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
           {"Origin": "OWN", "Sec_Fetch_Site": "cross-site"},
           {"Origin": "http://evil.example", "Sec_Fetch_Site": "same-origin"},
           {"Origin": "OWN", "X_Forwarded_Proto": "https"}]


@pytest.mark.parametrize("headers", FOREIGN, ids=[" ".join(headers.values()) for headers in FOREIGN])
def test_a_page_of_another_origin_gets_nothing(side, browser, headers):
    headers = {name: value.replace("OWN", own(side)) for name, value in headers.items()}
    requests = [("GET", "/v1/conversations", None), ("POST", "/v1/execute", {"code": "1"}),
                ("GET", "/console/session", None),
                ("POST", "/console/logout", {}), ("GET", "/v1/events", None), ("GET", "/v1/status", None)]
    for method, path, body in requests:
        response = browser.request(method, path, body, **headers)
        assert response.status == 403 and response.error["type"] == "forbidden", (path, response)
        assert not [name for name in response.headers if name.lower().startswith("access-control-")]
    assert sign_in(side, KEY, **headers).status == 403  # nobody is signed in behind his back
    assert browser.is_signed_in()


def test_our_own_pages_and_people_are_let_in(side, browser):
    for headers in ({"Origin": own(side)}, {"Sec_Fetch_Site": "same-origin"},
                    {"Origin": own(side), "Sec_Fetch_Site": "same-origin"},
                    {"Origin": own(side).replace("http:", "https:"), "X_Forwarded_Proto": "https"}):
        assert browser.get("/v1/conversations", **headers).status == 200
        assert browser.request("PUT", "/v1/agents/mine", {}, **headers).status in (200, 201)
    # Somebody has typed the address of a file; nobody types anything that changes something.
    assert browser.get("/v1/conversations", Sec_Fetch_Site="none").status == 200
    assert browser.request("PUT", "/v1/agents/mine", {}, Sec_Fetch_Site="none").status == 403


def test_behind_another_name_the_cookie_counts_for_that_name(browser):
    """The browser and a proxy in front agree on a name that the service has never heard of."""
    assert browser.get("/v1/conversations", Host="console.example", Origin="https://console.example").status == 200
    assert browser.get("/v1/conversations", Host="console.example", Origin=own(browser.side)).status == 403


def test_foreign_pages_may_not_read_what_a_key_gets_either(side):
    """With a key in the header no cookie is at work; but no reply invites other origins to read it."""
    response = side.get("/v1/conversations", headers={"Origin": "http://evil.example"})
    assert response.status == 200 and "Access-Control-Allow-Origin" not in response.headers


# ---- wrong keys

def test_wrong_keys_are_slowed_down(make_side):
    side = make_side()
    for number in range(5):
        response = sign_in(side, f"wrong-{number}")
        assert response.status == 401 and response.error["type"] == "unauthorized"
        assert "Set-Cookie" not in response.headers
    response = sign_in(side, "wrong")
    assert response.status == 429 and response.error["type"] == "rate_limited"
    assert response.headers["Retry-After"] == "1"
    assert sign_in(side, KEY).status == 429  # whether it is right is not said
    # Other addresses do not wait, and neither do those who have signed in, or use a key.
    assert sign_in_from("127.0.0.9", side, KEY).status == 200
    assert side.get("/v1/conversations").status == 200
    time.sleep(1.1)
    assert sign_in(side, "wrong").status == 401
    response = sign_in(side, KEY)
    assert response.status == 429 and response.headers["Retry-After"] == "2"
    time.sleep(2.1)
    assert sign_in(side, KEY).status == 200
    # A right key between wrong ones does not begin from the start.
    assert sign_in(side, "wrong").status == 401
    assert sign_in(side, "wrong").headers["Retry-After"] == "4"


def sign_in_from(address, side, key):
    connection = http.client.HTTPConnection("127.0.0.1", side.port, timeout=10, source_address=(address, 0))
    connection.request("POST", "/console/login", json.dumps({"key": key}), {"Content-Type": "application/json"})
    response = connection.getresponse()
    try:
        return Response(response.status, response.headers, response.read(), 0)
    finally:
        connection.close()


@pytest.mark.parametrize("key", ["", " ", "x" * 513, KEY + " ", " " + KEY, "Bearer " + KEY, KEY.upper(), "ä"])
def test_keys_that_are_wrong(make_side, key):
    response = sign_in(make_side(), key)
    assert response.status == 401 and response.error["param"] == "key" and "Set-Cookie" not in response.headers


@pytest.mark.parametrize("body",
                         [{"key": 5}, {"key": None}, {"key": KEY, "more": 1}, {"KEY": KEY}, {"key": KEY + "\0"}])
def test_bodies_that_are_wrong(side, body):
    response = side.request("POST", "/console/login", body, key=None)
    assert response.status == 400 and "Set-Cookie" not in response.headers and KEY not in response.body.decode()


# ---- streams of events

def listen(browser, path, **headers):
    connection = browser.side.connect(timeout=30)
    connection.request("GET", path,
                       headers={"Cookie": f"{COOKIE}={browser.cookie}", "Accept": "text/event-stream", **headers})
    return connection, connection.getresponse()


def next_event(response):
    lines = {}
    while True:
        line = response.readline().decode().rstrip("\n")
        if not line and "event" in lines:
            return lines["event"], json.loads(lines["data"])
        name, _, value = line.partition(": ")
        lines[name] = value


def test_events_come_with_the_cookie(side):
    name, key = side.new_project()
    browser = Browser(side, key)
    admin = Browser(side)
    side.keep("talk", key=key)
    streams = [listen(browser, "/v1/conversations/talk/events", Origin=own(side), **{"Sec-Fetch-Site": "same-origin"}),
               listen(browser, "/v1/events"), listen(admin, f"/v1/events?project={name}")]
    for _, response in streams:
        assert response.status == 200 and response.headers["Content-Type"] == "text/event-stream"
    run_id = side.keep("talk", key=key)["run_id"]
    event, run = next_event(streams[0][1])
    assert event == "run" and run["run_id"] == run_id
    for _, response in streams[1:]:
        event, conversation = next_event(response)
        assert event == "conversation" and (conversation["conversation_id"], conversation["run_count"]) == ("talk", 2)
    side.request("DELETE", "/v1/conversations/talk", key=key)
    assert next_event(streams[0][1]) == ("end", {})
    for _, response in streams[1:]:
        assert next_event(response) == ("end", {"conversation_id": "talk"})
    for connection, _ in streams:
        connection.close()


def test_events_end_when_somebody_signs_out(side):
    """The other one goes on; which takes the time between two signs of life."""
    leaver, stayer = Browser(side), Browser(side)
    leaving, staying = listen(leaver, "/v1/events"), listen(stayer, "/v1/events")
    assert leaver.request("POST", "/console/logout").status == 204
    assert b"event" not in leaving[1].read()  # to its end
    assert staying[1].readline().startswith(b": ")
    assert listen(leaver, "/v1/events")[1].status == 401
    leaving[0].close()
    staying[0].close()


# ---- secrets

def test_no_secret_in_replies_or_the_log(make_side, tmp_path):
    with open(tmp_path / "log", "wb") as log:
        side = make_side(log=log)
        browser = Browser(side)
        seen = [browser.reply]
        wrong = "wrong-key-" + uuid.uuid4().hex
        seen.append(sign_in(side, wrong))
        seen.append(side.request("POST", "/console/login", b'{"key": "' + wrong.encode() + b'", "key": 1}', key=None))
        seen.append(side.request("POST", "/console/login", b'{"key": ' + wrong.encode(), key=None))
        seen.append(side.request("POST", "/console/login", {wrong: 1, "key": wrong}, key=None))
        seen += [browser.get(path) for path in ("/console/", "/console/session", "/v1/status", "/v1/conversations",
                                                "/metrics",
                                                "/console/conversations/x", "/v1/projects/default/keys")]
        seen.append(browser.request("PUT", "/v1/agents/a", {}))
        seen.append(browser.request("POST", "/console/logout"))
        assert side.stop() == 0
    text = (tmp_path / "log").read_text()
    assert "signed in" in text and "wrong key" in text  # the control: such things are logged
    for secret in (KEY, browser.cookie, browser.csrf, wrong):
        assert secret not in text
    for response in seen:
        everything = str(response.headers.items()) + response.body.decode()
        assert KEY not in everything
        assert response is browser.reply or browser.cookie not in everything
    assert sum(browser.csrf in response.body.decode() for response in seen) == 2  # of signing in, and the session


# ---- the real service

def test_the_jailed_service_has_the_same_files(service, side):
    for path in ["/console/", *names_of_assets(side)]:
        assert service.get(path, key=None).body == side.get(path, key=None).body


def test_a_run_from_the_page_is_counted(service):
    browser = Browser(service, service.key)
    before = browser.get("/v1/status").json["activity"]
    reply = browser.request("POST", "/v1/execute", {"code": "print(1)"})
    assert reply.status == 200 and reply.json["outcome"] == "ok"
    failed = browser.request("POST", "/v1/execute", {"code": "1 / 0"})
    assert failed.status == 200 and failed.json["outcome"] == "error"
    after = browser.get("/v1/status").json["activity"]
    assert len(after["minutes"]) == 60
    assert after["outcomes"]["ok"] == before["outcomes"]["ok"] + 1
    assert after["outcomes"]["error"] == before["outcomes"]["error"] + 1
    runs = sum(minute["runs"] for minute in after["minutes"][-2:])
    assert runs >= 2 and after["minutes"][-1]["at"] > after["minutes"][0]["at"]
    for span in ("queue_ms", "start_ms", "wall_ms"):
        assert 0 <= after["latency"][span]["p50"] <= after["latency"][span]["p95"] <= after["latency"][span]["p99"]
    assert browser.request("POST", "/console/logout").status == 204
    log = service.log()
    assert browser.cookie not in log and browser.csrf not in log and service.key not in log


def test_conversations_are_searched(http_side, http_project):
    _, key = http_project
    for name in ("Invoice-2026", "invoice.2025", "other"):
        http_side.keep(name, key=key)
    found = http_side.get("/v1/conversations?q=INVOICE", key=key).json["conversations"]
    assert {one["conversation_id"] for one in found} == {"Invoice-2026", "invoice.2025"}
    page = http_side.get("/v1/conversations?q=invoice&limit=1", key=key).json
    rest = http_side.get(f"/v1/conversations?q=invoice&limit=1&after={page['next']}", key=key).json
    assert len(page["conversations"]) == len(rest["conversations"]) == 1 and rest["next"] is None
    assert http_side.get("/v1/conversations?q=%25", key=key).json["conversations"] == []
    assert len(http_side.get("/v1/conversations?q=", key=key).json["conversations"]) == 3
