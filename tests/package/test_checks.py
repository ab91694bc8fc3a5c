"""The package as others get it: types, style, wheel and sdist."""
import email
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest
from conftest import TREE

PACKAGE = TREE / "python"


def tool(name, *arguments, cwd=PACKAGE):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "RUFF_NO_CACHE": "true"}
    done = subprocess.run([sys.executable, "-m", name, *arguments], cwd=cwd, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_types(tmp_path):
    status, said = tool("mypy", f"--cache-dir={tmp_path}")
    assert status == 0, said


def test_types_as_an_author_sees_them(tmp_path):
    (tmp_path / "agent.py").write_text(
        "from code_sandbox import Client, run_python, tool\n\n@tool\ndef f(a: int) -> str:\n    return str(a)\n\n"
        "@tool(timeout_s=3)\nasync def g(a: int = 1) -> list[str]:\n    return [str(a)]\n\n"
        "async def main() -> None:\n    reveal_type(f(1))\n    reveal_type(await g())\n    f('x')\n"
        "    reveal_type(Client().run('1').files[0].name)\n    reveal_type(run_python('1').images)\n")
    status, said = tool("mypy", "--strict", f"--cache-dir={tmp_path}/cache", f"--config-file={os.devnull}", "agent.py", cwd=tmp_path) \
        if os.environ.setdefault("MYPYPATH", str(PACKAGE)) else (1, "")
    notes = [line.split(": ", 2)[2] for line in said.splitlines() if "Revealed" in line]
    assert [note.split('"')[1].replace("builtins.", "") for note in notes] == ["str", "list[str]", "str", "list[bytes]"]
    assert status == 1 and said.count("error:") == 1 and 'incompatible type "str"; expected "int"' in said


def test_style():
    for arguments in (("check",), ("format", "--check")):
        status, said = tool("ruff", *arguments, "--config", "pyproject.toml", ".", str(TREE / "examples" / "chat"))
        assert status == 0, said


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    status, said = tool("build", "--no-isolation", "--outdir", str(folder))
    assert status == 0, said
    return folder


def test_wheel_and_sdist(built):
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    assert wheel.name == "code_sandbox-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = email.message_from_bytes(archive.read("code_sandbox-0.1.0.dist-info/METADATA"))
    sources = {f"code_sandbox/{path.relative_to(PACKAGE / 'code_sandbox')}" for path in (PACKAGE / "code_sandbox").rglob("*.py")}
    assert sources | {"code_sandbox/py.typed"} <= names and not any("test" in name for name in names)
    assert metadata["Requires-Python"] == ">=3.10" and all("extra ==" in entry for entry in metadata.get_all("Requires-Dist"))
    adapters = {path.stem.replace("_", "-") for path in (PACKAGE / "code_sandbox" / "adapters").glob("[a-z]*.py")}
    assert set(metadata.get_all("Provides-Extra")) == adapters
    with tarfile.open(sdist) as archive:
        assert {"code_sandbox-0.1.0/pyproject.toml", "code_sandbox-0.1.0/README.md"} <= set(archive.getnames())
    status, said = tool("twine", "check", "--strict", str(wheel), str(sdist))
    assert status == 0, said


def test_the_wheel_works_by_itself(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    done = subprocess.run([sys.executable, "-S", "-c", "import code_sandbox; print(code_sandbox.__version__)"], cwd=tmp_path,
                          env={"PYTHONPATH": str(wheel)}, capture_output=True, text=True)
    assert done.stdout == "0.1.0\n", done.stderr


def test_the_version_is_the_platform_s():
    import code_sandbox

    assert f"version: '{code_sandbox.__version__}'" in (TREE / "meson.build").read_text()
