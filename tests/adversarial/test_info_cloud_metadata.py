"""The address from which clouds hand out credentials: 169.254.169.254, its IPv6 twin, and names for it."""
import json

import pytest

from support import unconfined
from support.network import METADATA

PROBE = """
    import json, time, urllib.request
    began = time.monotonic()
    try:
        text = urllib.request.urlopen({url!r}, timeout=3).read().decode()
    except (OSError, ValueError):
        text = "refused"
    print(json.dumps([text, time.monotonic() - began]))
"""
FORMS = [f"http://{METADATA}/latest/meta-data/", "http://2852039166/", "http://0xA9FEA9FE/", "http://0251.0376.0251.0376/", "http://[fd00:ec2::254]/",
         "http://[::ffff:169.254.169.254]/", "http://metadata.google.internal/", "http://instance-data/"]


@pytest.mark.parametrize("url", FORMS)
def test_refused_at_once(service, outside, url):
    outside.arrived()
    text, seconds = service.run(PROBE.format(url=url)).printed
    assert text == "refused" and seconds < 1
    assert outside.arrived() == {}


def test_control_it_is_there_for_others(service, outside):
    text, _ = json.loads(unconfined.run(PROBE.format(url=FORMS[0])))
    assert text == "reached"
