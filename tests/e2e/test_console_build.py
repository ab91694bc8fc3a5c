"""How the Console gets into the program: tools/build-console, with an npm that only notes what it is asked for."""
import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "build-console"
SCRIPT = b"let a = 1;\n" * 100
NPM = """#!/bin/sh
echo "$@" >> ../npm-log
if [ "$1" = ci ]; then mkdir -p node_modules; exit 0; fi
mkdir -p dist/assets
cp src/main.ts dist/assets/main-ABCD1234.js
echo '<!doctype html>' > dist/index.html
"""


class Build:
    def __init__(self, folder, version="v20.1.0"):
        self.folder, self.source, self.work = folder, folder / "web", folder / "work"
        self.code, self.data = folder / "a.c", folder / "a.bin"
        self.write("web/src/main.ts", SCRIPT)
        for name in ("package.json", "package-lock.json", "build.mjs"):
            self.write("web/" + name, b"{}")
        self.write("bin/npm", NPM.encode()).chmod(0o755)
        self.write("bin/node", f"#!/bin/sh\necho {version}\n".encode()).chmod(0o755)

    def write(self, path, content):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def run(self, path=None):
        command = ["/usr/bin/python3", TOOL, "--source", self.source, "--work", self.work, "--code", self.code,
                   "--data", self.data,
                   "--depfile", self.folder / "a.d"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60,
                              env={"PATH": path or f"{self.folder}/bin:/usr/bin:/bin"})

    def asked(self):
        log = self.folder / "npm-log"
        return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def build(tmp_path):
    return Build(tmp_path)


def rows(build):
    """{path: (type, bytes, gzip or None, immutable)} as the C code has it."""
    data = build.data.read_bytes()
    row = (r'\{"([^"]+)", "([^"]+)", "([0-9a-f]{32})", BYTES \+ (\d+), (?:BYTES \+ (\d+)|NULL), (\d+), (\d+), '
           r'(true|false)\}')
    found = re.findall(row, build.code.read_text())
    assert found
    part = lambda start, length: data[int(start):int(start) + int(length)]
    return {path: (kind, part(start, length), part(packed, packed_length) if packed else None, immutable == "true")
            for path, kind, _, start, packed, length, packed_length, immutable in found}


def test_every_file_is_in_the_program(build):
    done = build.run()
    assert done.returncode == 0, done.stderr
    table = rows(build)
    assert set(table) == {"index.html", "assets/main-ABCD1234.js"}
    kind, plain, packed, immutable = table["assets/main-ABCD1234.js"]
    assert (kind, plain, immutable) == ("text/javascript; charset=utf-8", SCRIPT, True)
    assert gzip.decompress(packed) == SCRIPT and len(packed) < len(SCRIPT)
    kind, plain, packed, immutable = table["index.html"]
    assert (plain, packed, immutable) == (b"<!doctype html>\n", None, False)  # too small to be compressed
    assert not (build.source / "dist").exists() and not (build.source / "node_modules").exists()


def test_packages_are_fetched_once(build):
    assert build.run().returncode == 0 and build.asked() == ["ci", "run"]
    assert build.run().returncode == 0 and build.asked() == ["ci", "run", "run"]
    first = build.code.read_text()
    build.write("web/src/main.ts", SCRIPT + b"// changed\n")
    assert build.run().returncode == 0 and build.asked() == ["ci", "run", "run", "run"]
    assert rows(build)["assets/main-ABCD1234.js"][1].endswith(b"// changed\n")
    assert build.code.read_text() != first
    build.write("web/package-lock.json", b"{ }")
    assert build.run().returncode == 0 and build.asked() == ["ci", "run", "run", "run", "ci", "run"]


def test_the_same_source_gives_the_same_bytes(build):
    assert build.run().returncode == 0
    first = build.code.read_bytes(), build.data.read_bytes()
    assert build.run().returncode == 0
    assert (build.code.read_bytes(), build.data.read_bytes()) == first


def test_what_was_deleted_is_deleted_in_the_copy(build):
    build.write("web/src/old.ts", b"1")
    assert build.run().returncode == 0 and (build.work / "src" / "old.ts").exists()
    (build.source / "src" / "old.ts").unlink()
    assert build.run().returncode == 0 and not (build.work / "src" / "old.ts").exists()


def test_ninja_is_told_what_it_depends_on(build):
    assert build.run().returncode == 0
    told = (build.folder / "a.d").read_text()
    for path in ("src/main.ts", "package-lock.json", "src", ""):
        assert re.search(rf"{re.escape(str(build.source / path))}(?:\s|$)", told), path
    assert str(TOOL) in told


def test_what_was_built_by_hand_is_taken(build):
    build.write("web/dist/index.html", b"<!doctype html>by hand")
    os.utime(build.source / "dist" / "index.html", (4e9, 4e9))
    assert build.run(path="/nowhere").returncode == 0 and build.asked() == []
    assert rows(build)["index.html"][1] == b"<!doctype html>by hand"
    # But not when it is older than what it was made from.
    os.utime(build.source / "dist" / "index.html", (1e9, 1e9))
    assert build.run().returncode == 0 and build.asked() == ["ci", "run"]
    assert rows(build)["index.html"][1] == b"<!doctype html>\n"


@pytest.mark.parametrize("version, message",
                         [("v16.20.0", "node is v16.20.0, but 18 or later is needed"), (None, "node is missing")])
def test_it_says_what_is_missing(tmp_path, version, message):
    build = Build(tmp_path, version)
    if version is None:
        (tmp_path / "bin" / "node").unlink()
    done = build.run(path=f"{tmp_path}/bin")
    assert done.returncode == 1 and message in done.stderr and "scripts/install-packages" in done.stderr


def test_unknown_kinds_of_files_stop_it(build):
    build.write("bin/npm", (NPM + "touch assets/main.exe\n").encode())
    done = build.run()
    assert done.returncode == 1 and "assets/main.exe" in done.stderr


def test_a_failure_of_npm_stops_it(build):
    build.write("bin/npm", b"#!/bin/sh\nexit 7\n")
    done = build.run()
    assert done.returncode == 1 and "npm ci --prefer-offline failed" in done.stderr
