"""platformctl doctor: the checks of the host, and what it says of the service."""
import json
import os
import re

import pytest

from support.cli import PLATFORMCTL, Cli
from support.fake_api import KEY, FakeApi, error

IMAGE = PLATFORMCTL.parent / "image" / "rootfs"


@pytest.fixture
def fake():
    server = FakeApi()
    server.check_key = False
    yield server
    server.close()


def doctor(url="http://127.0.0.1:9", **settings):
    return Cli(url, KEY)("doctor", timeout=120, **settings)


def verdicts(result):
    """{what was checked: ok, warning or MISSING}"""
    found = re.findall(r"^(ok|warning|MISSING) +([^:\n]+): ", result.stdout.decode(), re.M)
    assert found, result
    return {name: verdict for verdict, name in found}


@pytest.mark.skipif(os.geteuid() != 0, reason="as another user some checks fail for that reason alone")
def test_a_host_that_runs_the_other_tests_is_fit(tmp_path):
    """The service itself refuses to start on a host that is not; the image alone may not be built yet."""
    result = doctor()
    wanting = {name for name, verdict in verdicts(result).items() if verdict == "MISSING"}
    assert wanting == (set() if IMAGE.exists() else {"image"}), result
    assert result.code == (1 if wanting else 0)
    assert ("This host is fit for the service" if not wanting else "not fit") in result.stdout.decode()
    assert {"namespaces", "seccomp", "cgroups", "Landlock", "kernel"} <= set(verdicts(result))


def test_an_image_that_is_not_there():
    result = doctor(SANDBOX_IMAGE="/nowhere/image.erofs")
    assert result.code == 1
    assert verdicts(result)["image"] == "MISSING"
    assert re.search(r"^MISSING +image: .*\n +\S", result.stdout.decode(), re.M), "what to do about it is not said"
    assert "This host is not fit for the service" in result.stdout.decode()


def test_json():
    """For programs the same as for people, and one document whatever was found."""
    result = Cli("http://127.0.0.1:9", KEY)("doctor", "--json", timeout=120, SANDBOX_IMAGE="/nowhere/image.erofs")
    found = json.loads(result.stdout)
    assert result.code == 1 and found["fit"] is False
    states = {check["name"]: check["state"] for check in found["checks"]}
    assert states["image"] == "missing" and states["settings"] == "ok" and states["service"] == "ok"
    assert set(states) == set(verdicts(doctor(SANDBOX_IMAGE="/nowhere/image.erofs")))
    (image,) = (check for check in found["checks"] if check["name"] == "image")
    assert image["message"] and image["advice"] and set(image) == {"name", "state", "message", "advice"}
    wrong = json.loads(Cli()("doctor", "--json", SANDBOX_WARM_POL="3").stdout)
    assert wrong["fit"] is False and [check["state"] for check in wrong["checks"]] == ["missing"]


def test_settings_that_are_wrong():
    result = doctor(SANDBOX_WARM_POL="3")
    assert result.code == 1 and verdicts(result) == {"settings": "MISSING"}
    assert b"did you mean SANDBOX_WARM_POOL?" in result.stdout


@pytest.mark.parametrize("page, verdict, words", [
    (None, "ok", "none answers at"),
    ((200, {"status": "ready"}), "ok", "is ready"),
    ((503, error("overloaded", "starting")), "warning", "answers, but is not ready (HTTP 503)"),
    ((404, error("not_found", "no")), "warning", "answers, but is not ready (HTTP 404)"),
])
def test_the_service(fake, page, verdict, words):
    if page:
        fake.pages["/readyz"] = page
    result = doctor(fake.url if page else "http://127.0.0.1:9")
    assert verdicts(result)["service"] == verdict
    assert words in result.stdout.decode()
    assert [path for path, _, _ in fake.requests] == (["/readyz"] if page else [])


def test_colours_only_on_a_terminal():
    shown = Cli("http://127.0.0.1:9").on_terminal("doctor", timeout=120)
    assert b"\x1b[32mok\x1b[0m" in shown.stdout
    assert b"\x1b" not in doctor().stdout
    assert b"\x1b" not in Cli("http://127.0.0.1:9").on_terminal("doctor", timeout=120, NO_COLOR="1").stdout
