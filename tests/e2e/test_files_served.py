"""Kept files over HTTP: types, ranges, validators, and names and contents that mean harm."""
import hashlib
import re
import urllib.parse
import uuid

import pytest

PNG, CSV, HTML = ("a.png", "image/png", b"\x89PNG\r\n\x1a\n" + bytes(100)), ("t.csv", "text/csv", b"a,b\n1,2\n"), \
    ("p.html", "text/html", b"<script>alert(1)</script>")
SVG = ("p.svg", "image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
DATA = ("data.bin", "application/octet-stream", bytes(range(256)) * 40)
SIZE = len(DATA[2])


class Files:
    def __init__(self, http_side, key):
        self.http_side, self.key = http_side, key

    def keep(self, *files):
        """Paths of the files of one run."""
        kept = self.http_side.keep("c-" + uuid.uuid4().hex, files, key=self.key)
        return [f"/v1/files/{file_id}" for file_id in kept["files"]]

    def get(self, path, headers=None, method="GET", key=None):
        return self.http_side.request(method, path, headers=headers, key=key or self.key)


@pytest.fixture(scope="module")
def files(http_side):
    return Files(http_side, http_side.new_project()[1])


@pytest.fixture(scope="module")
def data(files):
    (path,) = files.keep(DATA)
    return path


def disposition(response):
    """(how, file name) as RFC 6266 has it: the extended form goes before the plain one."""
    value = response.headers["Content-Disposition"]
    how, plain, extended = re.fullmatch(r"""(\w+); filename="([^"]*)"(?:; filename\*=UTF-8\'\'([^ ";]+))?""",
                                        value).groups()
    return how, plain if extended is None else urllib.parse.unquote(extended, errors="strict")


def test_a_file_comes_as_it_is(files, data):
    response = files.get(data)
    assert response.status == 200 and response.body == DATA[2]
    headers = response.headers
    assert headers["Content-Type"] == "application/octet-stream" and headers["Content-Length"] == str(SIZE)
    assert headers["ETag"] == f'"{hashlib.sha256(DATA[2]).hexdigest()}"' and headers["Accept-Ranges"] == "bytes"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert headers["Vary"] == "Authorization, Cookie, X-Project"
    assert headers.get_all("Cache-Control") == ["private, max-age=3600, immutable"]


def test_head_gives_the_head(files, data):
    whole, head = files.get(data), files.get(data, method="HEAD")
    assert head.status == 200 and head.body == b""
    for name in ("Content-Length", "Content-Type", "ETag", "Content-Disposition", "Accept-Ranges"):
        assert head.headers[name] == whole.headers[name], name
    assert files.get(data, {"Range": "bytes=0-9"}, "HEAD").status == 200, "ranges are for GET"


def test_an_empty_file(files):
    (path,) = files.keep(("empty.txt", "text/plain", b""))
    response = files.get(path)
    assert response.status == 200 and response.body == b"" and response.headers["Content-Length"] == "0"
    assert files.get(path, {"Range": "bytes=0-"}).status == 416


def test_a_large_file(files):
    content = bytes(range(256)) * 16384
    (path,) = files.keep(("large.bin", "application/octet-stream", content))
    assert files.get(path).body == content
    part = files.get(path, {"Range": f"bytes=1000003-{len(content) - 2}"})
    assert part.status == 206 and part.body == content[1000003:-1]


# ---- how it is shown


@pytest.mark.parametrize("name, kind, shown", [
    ("a.png", "image/png", True), ("a.jpg", "image/jpeg", True), ("a.gif", "image/gif", True),
    ("a.webp", "image/webp", True),
    ("a.txt", "text/plain", True), ("a.csv", "text/csv", True), ("a.svg", "image/svg+xml", False),
    ("a.html", "text/html", False),
    ("a.xml", "application/xml", False), ("a.pdf", "application/pdf", False), ("a.js", "text/javascript", False),
    ("a.md", "text/markdown", False), ("a", "application/octet-stream", False)])
def test_only_what_cannot_run_is_shown_where_it_stands(files, name, kind, shown):
    (path,) = files.keep((name, kind, HTML[2]))
    response = files.get(path)
    assert response.headers["Content-Type"].split(";")[0] == kind
    assert disposition(response) == ("inline" if shown else "attachment", name)
    assert disposition(files.get(path + "?download=1")) == ("attachment", name)
    assert disposition(files.get(path + "?download=0")) == ("inline" if shown else "attachment", name)
    assert response.headers["X-Content-Type-Options"] == "nosniff" and response.headers["Content-Security-Policy"]


def test_text_is_utf_8(files):
    paths = files.keep(("a.txt", "text/plain", "ä".encode()), CSV, PNG)
    kinds = [files.get(path).headers["Content-Type"] for path in paths]
    assert kinds == ["text/plain; charset=utf-8", "text/csv; charset=utf-8", "image/png"]


@pytest.mark.parametrize("query", ["?download=2", "?download=true", "?download=", "?download"])
def test_download_is_one_or_nothing(files, data, query):
    response = files.get(data + query)
    assert response.status == 400 and response.error["param"] == "download"


@pytest.mark.parametrize("name", [
    "ä.csv", "日本語.png", "a b.csv", 'a"b.csv', "a\\b.csv", "50%.csv", "a;filename=evil.exe", "a'b.csv", "𝄞.csv",
    "'; x=\"y",
    "a\r\nSet-Cookie: x=1\r\n\r\n<script>", "a\nb", "\x7f\x1b[31m", "x" * 200 + ".csv"])
def test_names_come_back_and_lead_nowhere(files, name):
    (path,) = files.keep(("folder/" + name, "text/csv", b"x"))
    response = files.get(path)
    assert response.status == 200 and response.body == b"x"
    assert "Set-Cookie" not in response.headers
    value = response.headers["Content-Disposition"]
    assert value.isascii() and value.isprintable()
    assert disposition(response) == ("inline", name)


# ---- ranges


@pytest.mark.parametrize("value, first, last", [
    ("bytes=0-0", 0, 0), ("bytes=10-19", 10, 19), ("bytes=-1", SIZE - 1, SIZE - 1), ("bytes=-99999999", 0, SIZE - 1),
    (f"bytes={SIZE - 5}-", SIZE - 5, SIZE - 1), ("bytes=0-99999999999999999999999", 0, SIZE - 1), ("Bytes=5-9", 5, 9)])
def test_parts(files, data, value, first, last):
    response = files.get(data, {"Range": value})
    assert response.status == 206 and response.body == DATA[2][first:last + 1]
    assert response.headers["Content-Range"] == f"bytes {first}-{last}/{SIZE}"
    assert response.headers["Content-Length"] == str(last + 1 - first)
    assert response.headers["ETag"] == f'"{hashlib.sha256(DATA[2]).hexdigest()}"'


@pytest.mark.parametrize("value", [f"bytes={SIZE}-", f"bytes={SIZE}-{SIZE + 9}", "bytes=-0",
                                   "bytes=99999999999999999999999-"])
def test_parts_that_are_not_there(files, data, value):
    response = files.get(data, {"Range": value})
    assert response.status == 416 and response.error["type"] == "range_not_satisfiable"
    assert str(SIZE) in response.error["message"]
    assert response.headers["Content-Range"] == f"bytes */{SIZE}" and response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("value", ["bytes=0-1,3-4", "bytes=4-3", "bytes=", "bytes=-", "bytes=a-b", "lines=0-1",
                                   "bytes 0-1", "x"])
def test_what_is_no_single_part_is_all_of_it(files, data, value):
    response = files.get(data, {"Range": value})
    assert response.status == 200 and response.body == DATA[2] and "Content-Range" not in response.headers


# ---- validators


def test_what_is_known_is_not_sent_again(files, data):
    etag = files.get(data).headers["ETag"]
    for value in (etag, "W/" + etag, "*", f'"x", {etag}'):
        response = files.get(data, {"If-None-Match": value})
        assert response.status == 304 and response.body == b"" and response.headers["ETag"] == etag, value
        assert response.headers["Cache-Control"].startswith("private")
        assert files.get(data, {"If-None-Match": value}, "HEAD").status == 304
        assert files.get(data, {"If-None-Match": value, "Range": "bytes=0-1"}).status == 304
    for value in ('"x"', etag.strip('"'), '"*"', ""):
        assert files.get(data, {"If-None-Match": value}).status == 200, value


def test_a_part_only_of_what_the_client_has(files, data):
    etag = files.get(data).headers["ETag"]
    part = {"Range": "bytes=0-1"}
    assert files.get(data, {**part, "If-Range": etag}).status == 206
    for value in ('"x"', "W/" + etag, "Sat, 29 Nov 2026 19:43:31 GMT"):
        assert files.get(data, {**part, "If-Range": value}).body == DATA[2], value
    assert files.get(data, {"Range": f"bytes={SIZE}-", "If-Range": '"x"'}).status == 200


# ---- whose it is


def test_a_file_is_its_projects(files, http_side, data):
    other = http_side.new_project()[1]
    for path in (data, "/v1/files/file_01ARZ3NDEKTSV4RRFFQ69G5FAV", "/v1/files/x", "/v1/files/..",
                 "/v1/files/%2e%2e%2fstore"):
        response = files.get(path, key=other)
        assert response.status == 404 and response.error["type"] == "not_found"
        assert "ETag" not in response.headers
    assert http_side.request("GET", data, key=None).status == 401
    assert http_side.request("GET", data).status == 404, "an admin key acts in the project default unless it says else"


def test_equal_contents_are_files_of_their_own(files):
    one, two = files.keep(CSV)[0], files.keep(("other.csv",) + CSV[1:])[0]
    assert one != two and files.get(one).headers["ETag"] == files.get(two).headers["ETag"]
    assert disposition(files.get(one))[1] == "t.csv" and disposition(files.get(two))[1] == "other.csv"


def test_the_type_is_never_guessed(files):
    """What looks like a page but is called a picture is served as the picture it claims to be."""
    (path,) = files.keep(("x.png", "image/png", HTML[2]))
    response = files.get(path)
    assert response.headers["Content-Type"] == "image/png" and response.headers["X-Content-Type-Options"] == "nosniff"
