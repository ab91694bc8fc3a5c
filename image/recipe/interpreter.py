"""Finding a CPython, and taking its interpreter and standard library into the image: nothing else of it."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

from . import elf, settings

PROBE = """
import json, os, platform, sys, sysconfig
print(json.dumps({
    "version": platform.python_version(), "tuple": sys.version_info[:2], "implementation": platform.python_implementation(),
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "prefix": sys.base_prefix, "stdlib": sysconfig.get_path("stdlib", vars={"base": sys.base_prefix}),
    "dynload": os.path.join(sysconfig.get_config_var("DESTSHARED") or ""),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")), "debug": hasattr(sys, "gettotalrefcount"),
}))
"""


class InterpreterError(Exception):
    """No usable interpreter; the text says what to do."""


class Interpreter:
    def __init__(self, facts, source):
        self.version, self.implementation = facts["version"], facts["implementation"]
        self.pair = tuple(facts["tuple"])
        self.executable, self.prefix, self.stdlib = facts["executable"], facts["prefix"], facts["stdlib"]
        self.dynload = facts["dynload"]
        self.source = source

    @property
    def name(self):
        return f"python{self.pair[0]}.{self.pair[1]}"

    def fingerprint(self):
        """Changes when the interpreter is replaced; cheap enough for every start."""
        marks = [self.version, self.executable, self.source]
        for path in [self.executable, self.stdlib, *glob.glob(os.path.join(self.prefix, "lib", "libpython3*.so*"))]:
            info = os.stat(path)
            marks.append(f"{path} {info.st_size} {info.st_mtime_ns}")
        return "\n".join(marks)


def _clean_environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYENV_"))}


def probe(path):
    """Facts about the interpreter at path, or None if it does not run or is not a plain CPython."""
    try:
        out = subprocess.run([path, "-I", "-S", "-c", PROBE], capture_output=True, timeout=30, check=True, text=True,
                             env=_clean_environment(), cwd="/").stdout
        facts = json.loads(out)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    plain = facts["implementation"] == "CPython" and not facts["free_threaded"] and not facts["debug"]
    return facts if plain else None


def _version_key(path):
    return [int(number) for number in re.findall(r"\d+", os.path.basename(path))]


def _pyenv_candidates():
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for prefix in sorted(glob.glob(os.path.join(root, "versions", "3.12*")), key=_version_key, reverse=True):
        if not os.path.exists(os.path.join(prefix, "pyvenv.cfg")):
            yield os.path.join(prefix, "bin", "python3.12"), f"pyenv ({os.path.basename(prefix)})"


def _distribution_candidates():
    folders = [f for f in os.environ.get("PATH", "").split(":") if "/shims" not in f]
    for folder in dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin"]):
        path = os.path.join(folder, "python3.12")
        if os.access(path, os.X_OK):
            yield path, f"distribution ({path})" if folder == "/usr/bin" else f"found ({path})"


def _uv_candidates(cache, say):
    """Let uv fetch a build of its own. uv itself comes from PATH or from the Python package index."""
    uv = shutil.which("uv")
    store = os.path.join(cache, "uv-python")
    env = {**_clean_environment(), "UV_PYTHON_INSTALL_DIR": store, "UV_NO_PROGRESS": "1", "UV_CACHE_DIR": f"{cache}/uv"}
    try:
        if uv is None:
            venv = os.path.join(cache, "uv-venv")
            uv = os.path.join(venv, "bin", "uv")
            if not os.access(uv, os.X_OK):
                say("no CPython 3.12 on this machine: installing uv to fetch one")
                subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", venv], check=True, timeout=300)
                subprocess.run([f"{venv}/bin/pip", "install", "--quiet", "uv"], check=True, timeout=600)
        subprocess.run([uv, "python", "install", "--quiet", "--no-bin", "3.12"], check=True, timeout=900, env=env)
        found = subprocess.run([uv, "python", "find", "--managed-python", "3.12"], check=True, timeout=60, env=env,
                               capture_output=True, text=True).stdout.strip()
        yield found, "uv"
    except (OSError, subprocess.SubprocessError) as failure:
        say(f"uv could not provide CPython 3.12 ({failure})")


def find(cache, say):
    """The interpreter to use. IMAGE_PYTHON=/path overrides the search."""
    override = os.environ.get("IMAGE_PYTHON")
    if override:
        facts = probe(override)
        if not facts or tuple(facts["tuple"]) not in settings.PYTHON_LOCKED:
            known = " or ".join(f"{a}.{b}" for a, b in settings.PYTHON_LOCKED)
            raise InterpreterError(f"IMAGE_PYTHON={override} is not a CPython {known} that runs")
        return Interpreter(facts, f"IMAGE_PYTHON ({override})")
    for search in (_pyenv_candidates, _distribution_candidates, lambda: _uv_candidates(cache, say)):
        for path, source in search():
            facts = probe(path)
            if facts and tuple(facts["tuple"]) == settings.PYTHON_WANTED:
                return Interpreter(facts, source)
    return _last_resort(say)


def _last_resort(say):
    facts = probe("/usr/bin/python3")
    if facts and tuple(facts["tuple"]) in settings.PYTHON_LOCKED:
        say("=" * 100)
        say(f"WARNING: no CPython 3.12 to be had. The image gets this distribution's Python {facts['version']} instead;")
        say("WARNING: GET /v1/environment will say so. Install 3.12 (pyenv, uv or a package) and run this again to change it.")
        say("=" * 100)
        return Interpreter(facts, f"distribution ({facts['executable']}), because no 3.12 could be had")
    raise InterpreterError(
        "no CPython 3.12 found. Looked for pyenv's (~/.pyenv/versions/3.12*), python3.12 in PATH, and uv's. Do one of:\n"
        "  uv python install 3.12        (pip install uv)\n"
        "  pyenv install 3.12\n"
        "  apt-get install python3.12    (Ubuntu 24.04)\n"
        "or point IMAGE_PYTHON at one, then run this again.")


def _copy_stdlib(interpreter, target):
    def ignore(folder, names):
        top = os.path.samefile(folder, interpreter.stdlib)
        dropped = {"__pycache__"}
        for name in names:
            if name.endswith((".pyc", ".pth", ".a", ".o", ".exe")):
                dropped.add(name)
            elif top and (name in settings.STDLIB_DROP or name.startswith(settings.STDLIB_DROP_PREFIXES)):
                dropped.add(name)
            elif os.path.basename(folder) == "lib-dynload" and name.startswith(settings.EXTENSIONS_DROP):
                dropped.add(name)
        return dropped

    shutil.copytree(interpreter.stdlib, target, ignore=ignore, symlinks=False, copy_function=shutil.copyfile)
    os.makedirs(os.path.join(target, "site-packages"), exist_ok=True)
    # Debian's and Ubuntu's site.py looks for dist-packages; ours, whoever made it, must find the same folder.
    os.symlink("site-packages", os.path.join(target, "dist-packages"))


def _forget_build_paths(interpreter, target):
    """The build machine's prefix is of no use inside and nobody's business."""
    for path in glob.glob(os.path.join(target, "_sysconfigdata*.py")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(re.escape(interpreter.prefix) + r"(?![\w.-])", "/usr/local", text))


def copy(interpreter, root):
    """Interpreter to /usr/local/bin, standard library to /usr/local/lib/python3.x."""
    prefix = os.path.join(root, settings.PREFIX)
    target = os.path.join(prefix, "lib", interpreter.name)
    os.makedirs(os.path.join(prefix, "bin"), exist_ok=True)
    _copy_stdlib(interpreter, target)
    binary = os.path.join(prefix, "bin", interpreter.name)
    shutil.copyfile(interpreter.executable, binary)
    os.chmod(binary, 0o755)
    for link in ("python3", "python"):
        os.symlink(interpreter.name, os.path.join(prefix, "bin", link))
    for name in map(os.path.basename, elf.Elf(binary).needed):  # some builds ask for it as $ORIGIN/../lib/libpython…
        own = os.path.join(interpreter.prefix, "lib", name)
        if name.startswith("libpython") and os.path.exists(own):
            shutil.copyfile(own, os.path.join(prefix, "lib", name))
    _forget_build_paths(interpreter, target)
    own_files = [binary, *glob.glob(f"{prefix}/lib/libpython*"), *elf.elf_files(os.path.join(target, "lib-dynload"))]
    for path in own_files:
        if interpreter.source != "uv":  # those are stripped already, and laid out by a tool that strip does not know
            subprocess.run(["strip", "--strip-unneeded", path], check=True)
        elf.replace_path(path, os.path.join(interpreter.prefix, "lib"), "/usr/local/lib")
    return target


def pip_command(interpreter, cache):
    """How to run pip under exactly this interpreter: its own, or that of a venv made from it."""
    own = [interpreter.executable, "-m", "pip"]
    if subprocess.run([*own, "--version"], capture_output=True, env=_clean_environment(), cwd="/").returncode == 0:
        return own
    venv = os.path.join(cache, f"venv-{interpreter.version}")
    done = subprocess.run([interpreter.executable, "-m", "venv", "--clear", venv], capture_output=True, text=True)
    if done.returncode:
        raise InterpreterError(f"{interpreter.executable} has neither pip nor venv: {done.stdout}{done.stderr}\n"
                               f"On Ubuntu: apt-get install {interpreter.name}-venv")
    return [os.path.join(venv, "bin", "python"), "-m", "pip"]


if __name__ == "__main__":
    sys.exit("part of image/build")
