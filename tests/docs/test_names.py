"""What the documentation names exists: links, paths, settings, routes, metrics, errors, the service's own words."""
import json
import re
import subprocess

import pytest

from docs import pages
from docs.pages import REPOSITORY, Page

PAGES = pages.all_pages()
WORDS = pages.words_of_the_service()
each_page = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])

# Folders whose files a page may name as they stand in a checkout; build/ is there only after building.
TREE = r"(?:src|tests|docs|tools|scripts|seccomp|image|examples|\.ci)/"
# What belongs to others and is named to warn of it.
FOREIGN_SETTINGS = {"SANDBOX_PORT"}


# ---- checks; each returns complaints


def broken_links(page):
    for number, line in page.numbered_prose():
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = page.path if not path else page.path.parent / path
            if not file.exists():
                yield f"{page.name}:{number}: there is no {target}"
            elif anchor and anchor not in Page(file.resolve(), page.root.resolve()).anchors():
                yield f"{page.name}:{number}: {path or 'the page'} has no heading for #{anchor}"


def missing_paths(page):
    for number, line in page.numbered_prose():
        for span in re.findall(r"`([^`]+)`", line):
            path = re.match(rf"({TREE}[\w./-]*\w|sandbox_runner/[\w./-]*\w)", span)
            name = path[1] if path else ""
            if name.startswith("sandbox_runner/"):
                name = "src/template/python/" + name
            if name and not any((REPOSITORY / (name + ending)).exists() for ending in ("", ".c")):  # a program's source
                yield f"{page.name}:{number}: there is no {span}"
            if re.fullmatch(r"\w+\.(?:c|h|py|policy)", span) and not any(REPOSITORY.glob(f"*/**/{span}")):
                yield f"{page.name}:{number}: there is no file {span}"


def unknown_settings(page):
    known = pages.settings() | FOREIGN_SETTINGS
    constants = set(re.findall(r"\bSANDBOX_\w+", pages.read("src/spawn/proto.h")))
    for number, line in enumerate(page.text.splitlines(), 1):
        for name in re.findall(r"\bSANDBOX_[A-Z0-9_]+\b", line):
            if name not in known | constants:
                yield f"{page.name}:{number}: there is no setting {name}"


def unknown_routes(page):
    patterns = pages.routes()
    for number, line in page.numbered_prose():
        for method, path in re.findall(r"\b(GET|HEAD|POST|PUT|PATCH|DELETE) (/[\w{}/.-]*)", line):
            if (method, path.rstrip(".")) not in patterns:
                yield f"{page.name}:{number}: there is no route {method} {path}"


def unknown_metrics(page):
    known = pages.metrics()
    code = "".join(path.read_text() for path in (REPOSITORY / "src").rglob("*.h"))
    for number, line in page.numbered_prose():
        for name in re.findall(r"`(sandbox_\w+)`", line):
            if name not in known and name != "sandbox_id" and not re.search(rf"\b{name}\(", code):
                yield f"{page.name}:{number}: there is no metric {name}"


def unknown_words(page):
    for number, text in page.quotations():
        if not pages.is_said(text, WORDS):
            yield f"{page.name}:{number}: the service never says: {text}"


def unknown_constants(page):
    text = "".join(path.read_text() for path in (REPOSITORY / "src").rglob("*.h"))
    known = set(re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", text))
    for number, line in page.numbered_prose():
        for name in re.findall(r"`((?:SPAWN|FRAME|REPORT|ORDER|TEMPLATE|SKIP)_[A-Z_]+)`", line):
            if name not in known:
                yield f"{page.name}:{number}: there is no {name} in src/"


def bad_shell(page):
    """Commands are shell, and name what there is. That they are tried is looked after by test_every_block.py."""
    targets = set(re.findall(r"^([a-z-]+):", pages.read("Makefile"), re.M))
    for block in page.blocks:
        if block.language not in ("sh", "bash"):
            continue
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
        if done.returncode:
            yield f"{block.place}: {done.stderr.strip()}"
        for target in re.findall(r"^make ([a-z-]+)", block.text, re.M):
            if target not in targets:
                yield f"{block.place}: the Makefile has no target {target}"
        for script in re.findall(rf"(?:^|\s)({TREE}[\w./-]+)", block.text):
            if not (REPOSITORY / script).exists():
                yield f"{block.place}: there is no {script}"


CHECKS = (broken_links, missing_paths, unknown_settings, unknown_routes, unknown_metrics, unknown_words,
          unknown_constants, bad_shell)


@each_page
@pytest.mark.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])
def test_page(page, check):
    assert list(check(page)) == []


# ---- the control: a page that is wrong in every way

WRONG = """# A page
[gone](gone.md) and [no such part](#nowhere), `src/api/gone.c`, `gone_for_good.c`, `SANDBOX_GONE`, `GET /v1/gone`,
`sandbox_gone_total`, `SPAWN_GONE`.

> The moon is made of green cheese, and nothing can be done about it.

> The input file "a.csv" is made of green cheese, and nothing at all can be done about it.

```sh
make gone
tests/gone
if true
```
"""
EXPECTED = {broken_links: 2, missing_paths: 2, unknown_settings: 1, unknown_routes: 1, unknown_metrics: 1,
            unknown_words: 2, unknown_constants: 1, bad_shell: 3}


@pytest.mark.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])
def test_the_control_a_wrong_page_is_noticed(tmp_path, check):
    path = tmp_path / "wrong.md"
    path.write_text(WRONG)
    complaints = list(check(Page(path, tmp_path)))
    assert len(complaints) == EXPECTED[check], complaints


# ---- the other direction: what there is, is documented


def text_of(name):
    return next(page.text for page in PAGES if page.name == name)


def test_every_route_is_documented():
    everything = "".join(page.text for page in PAGES)
    assert [f"{m} {p}" for m, p in sorted(pages.routes()) if not re.search(rf"{m} {re.escape(p)}(?![\w/])", everything)] == []


def test_every_metric_is_documented():
    assert sorted(name for name in pages.metrics() if f"`{name}`" not in text_of("docs/operations.md")) == []


def test_every_setting_is_documented():
    documented = text_of("docs/configuration.md")
    assert sorted(name for name in pages.settings() if not re.search(rf"`[^`]*\b{name}\b", documented)) == []


def test_every_error_that_can_come_is_documented():
    """Kinds that no code uses yet are not promised."""
    used = "".join(path.read_text() for path in (REPOSITORY / "src").rglob("*.c") if path.name != "http_error.c")
    names = re.findall(r"\[(HTTP_\w+)\]\s*=\s*\{\s*(\d+),\s*\"(\w+)\"", pages.read("src/api/http_error.c"))
    expected = {(int(status), kind) for name, status, kind in names if re.search(rf"\b{name}\b", used)}
    table = {(int(status), kind) for status, kind in re.findall(r"^\| (\d{3}) \| `(\w+)` \|", text_of("docs/run-code.md"), re.M)}
    assert expected and table == expected
    assert expected <= pages.error_kinds()


def unsaid(patterns, page):
    """The sentences of `patterns` that no quotation of the page is an example of."""
    quoted = [text for _, text in page.quotations()]
    return [pattern.pattern for pattern in patterns if not any(pattern.fullmatch(text) for text in quoted)]


def test_every_error_and_every_hint_has_its_place_in_troubleshooting():
    page = next(page for page in PAGES if page.name == "docs/troubleshooting.md")
    kinds = {kind for _, kind in pages.error_kinds()}
    assert {kind for kind in kinds if f"### `{kind}`" not in page.text} == set()
    hints = [pattern for pattern in pages.words_of("src/run/hints.c") if pattern.pattern.endswith("\\.")]
    of_calls = [pattern for pattern in pages.words_of("src/api/call_hint.c") if re.search(r"[A-Za-z]\\.$", pattern.pattern)]
    assert len(hints) > 35 and len(of_calls) >= 8
    assert unsaid(hints + of_calls, page) == []
    assert unsaid([re.compile("No such sentence\\.")], page) == ["No such sentence\\."]


def section(text, heading):
    return text.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]


def first_column(text):
    return {name for row in re.findall(r"^\| (`[^|]+`) \|", text, re.M) for name in re.findall(r"`(\w+)`", row)}


def test_every_outcome_and_reason_is_documented():
    page = text_of("docs/run-code.md")
    assert first_column(section(page, "### Outcomes")) - {"outcome"} == pages.outcomes()
    assert first_column(section(page, "### Files")) - {"reason"} == pages.skip_reasons()


def test_every_field_of_request_and_reply_is_documented():
    page = text_of("docs/run-code.md")
    request = set(re.findall(r'\{\s*\.name = "(\w+)"', pages.read("src/api/execute_request.c").split("static void make_table")[1]
                             .split("memcpy")[0]))
    reply = set(re.findall(r'json_out_(?:key|member_\w+)\(\s*out,\s*"(\w+)"', pages.read("src/api/execute_reply.c")))
    reply |= set(re.findall(r'write_list\(\s*out,\s*"(\w+)"', pages.read("src/api/execute_reply.c")))
    assert request and first_column(section(page, "## Request")) == request
    table = section(page, "## Reply")
    assert len(reply) > 20 and sorted(name for name in reply if f"`{name}`" not in table) == []


def test_every_message_of_the_boundary_is_documented():
    page = text_of("docs/privsep.md")
    kinds = re.search(r"enum spawn_type \{(.*?)\};", pages.read("src/spawn/proto.h"), re.S)[1]
    frames = re.search(r"enum frame_type \{(.*?)\};", pages.read("src/spawn/frames.h"), re.S)[1]
    names = re.findall(r"^\s+((?:SPAWN|FRAME)_\w+)", kinds + frames, re.M)
    assert len(names) > 15 and [name for name in names if f"`{name}`" not in page] == []


def test_every_folder_of_tests_is_documented():
    folders = {path.name for path in (REPOSITORY / "tests").iterdir() if path.is_dir()} - {"support", "__pycache__"}
    named = set(re.findall(r"^\| `tests/(\w+)` \|", text_of("CONTRIBUTING.md"), re.M))
    assert named >= {name for name in folders if any((REPOSITORY / "tests" / name).rglob("*.*"))}


def test_every_pattern_of_credentials_is_documented():
    source = pages.read("src/api/call_env.c")
    patterns = re.findall(r'^\s+"([^"]+)",$', source.split("patterns[] = {")[1].split("};")[0], re.M)
    table = section(text_of("docs/tool-calls.md"), "## Environment of a call")
    assert len(patterns) > 40 and [pattern for pattern in patterns if f"`{pattern}`" not in table] == []


def test_every_decision_is_listed():
    names = {path.name for path in (REPOSITORY / "docs" / "decisions").glob("[0-9]*.md")}
    assert names and names == set(re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", text_of("docs/decisions/README.md")))


def test_every_package_of_the_console_has_its_licence_named():
    lock = json.loads(pages.read("web/package-lock.json"))["packages"]
    names = {path.rsplit("node_modules/", 1)[1] for path in lock if path} - {"esbuild"}
    names = {name for name in names if not name.startswith("@esbuild/")}
    table = section(text_of("docs/licences.md"), "## In the Console")
    named = {name.strip() for row in re.findall(r"^\| ([^|]+) \|", table, re.M) for name in row.split(",")} - {"package", "---"}
    assert named == names
    assert {entry["license"] for path, entry in lock.items() if path} == {"MIT"}


def test_every_page_of_docs_is_linked_from_the_readme():
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)\)", text_of("README.md")))
    assert {page.name for page in PAGES if re.fullmatch(r"docs/[\w-]+\.md", page.name)} <= linked


# ---- numbers


def test_the_size_of_the_root_side():
    done = subprocess.run([REPOSITORY / "tools" / "check-boundary"], capture_output=True, text=True)
    real, most = map(int, re.search(r"root side: (\d+) of at most (\d+)", done.stdout).groups())
    page = text_of("docs/architecture.md")
    stated = int(re.search(r"about ([\d,]+) lines of C", page)[1].replace(",", ""))
    assert abs(stated - real) <= 100, "correct docs/architecture.md"
    assert int(re.search(r"fails above ([\d,]+)", page)[1].replace(",", "")) == most


def test_the_number_of_attacks():
    count = len(list((REPOSITORY / "tests" / "adversarial").glob("test_*.py")))
    assert "about a hundred attacks" in text_of("README.md") and 80 <= count <= 130
