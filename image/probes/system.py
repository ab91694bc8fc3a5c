"""Python itself, the shell, the users, the clock and the names, as a snippet meets them."""

import importlib
import os
import subprocess
import sys


def shell(command):
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and done.stderr == "", (command, done)
    return done.stdout


NAME = f"python{sys.version_info[0]}.{sys.version_info[1]}"  # which it is, check_python_is_3_12 judges
LIBRARY = f"/usr/local/lib/{NAME}"


def check_python_is_3_12():
    import json
    from unittest import SkipTest

    with open("/mnt/data/environment.json", encoding="utf-8") as file:
        told = json.load(file)
    if sys.version_info[:2] != (3, 12) and not told["as_promised"]:
        raise SkipTest(f"the recipe found no CPython 3.12 and took {told['python']} from: {told['source']}")
    assert sys.implementation.name == "cpython" and sys.version_info[:2] == (3, 12) and told["as_promised"], sys.version


def check_python_lives_in_usr_local():
    assert sys.prefix == sys.base_prefix == "/usr/local" and os.path.realpath(sys.executable) == f"/usr/local/bin/{NAME}"
    for path in sys.path:
        assert path.startswith(("/usr/local/lib/", "/mnt/data")), path


def check_environment_json_tells_the_truth_about_python():
    import json
    import platform

    with open("/mnt/data/environment.json", encoding="utf-8") as file:
        told = json.load(file)
    assert told["python"] == platform.python_version() and told["implementation"] == platform.python_implementation()
    assert told["machine"] == platform.machine()
    for name in told["tools"]:
        assert os.access(f"/usr/bin/{name}", os.X_OK), name


def check_every_extension_module_of_the_standard_library_loads():
    import sysconfig

    folder = os.path.join(sysconfig.get_path("stdlib"), "lib-dynload")
    for name in sorted(os.listdir(folder)):
        importlib.import_module(name.split(".")[0])


def check_modules_that_depend_on_libraries_of_the_system():
    for name in ("ssl _ssl sqlite3 _sqlite3 ctypes _ctypes lzma _lzma bz2 _bz2 zlib uuid _uuid readline curses hashlib "
                 "_hashlib decimal pyexpat xml.etree.ElementTree zoneinfo").split():
        importlib.import_module(name)
    import ctypes
    import sqlite3
    import ssl
    import uuid

    assert sqlite3.connect(":memory:").execute("select sqlite_version(), json('[1]')").fetchone()[1] == "[1]"
    assert ssl.create_default_context() and ssl.RAND_bytes(8) and uuid.uuid1()
    assert ctypes.CDLL("libc.so.6").abs(-3) == 3 and ctypes.CDLL(None).getpid() == os.getpid()


def check_sqlite_has_full_text_search():
    import sqlite3

    connection = sqlite3.connect("/mnt/data/notes.db")
    connection.execute("create virtual table notes using fts5(body)")
    connection.execute("insert into notes values ('warm pool')")
    assert connection.execute("select count(*) from notes where notes match 'pool'").fetchone() == (1,)


def check_every_module_is_compiled_and_its_compiled_form_is_valid():
    import importlib.util

    count, uncompiled = 0, []
    for folder, _, names in os.walk("/usr/local/lib"):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".py"):
                continue
            cached = importlib.util.cache_from_source(path)
            with open(path, "rb") as file:
                source = file.read()
            if not os.path.exists(cached):
                uncompiled.append((path, source))
                continue
            with open(cached, "rb") as file:
                head = file.read(16)
            assert head[:4] == importlib.util.MAGIC_NUMBER, cached
            assert head[4:8] == b"\x01\0\0\0", f"{cached} is not of the unchecked kind"
            assert head[8:] == importlib.util.source_hash(source), f"{cached} was made from another {path}"
            count += 1
    assert count > 3000, count
    for path, source in uncompiled:  # test data and templates that are no valid Python at all
        try:
            compile(source, path, "exec")
        except (SyntaxError, ValueError):
            continue
        raise AssertionError(f"{path} could be compiled, but was not")


def check_no_compiled_file_lacks_its_source():
    for folder, _, names in os.walk("/usr/local/lib"):
        if os.path.basename(folder) == "__pycache__":
            for name in names:
                source = os.path.join(os.path.dirname(folder), name.split(".")[0] + ".py")
                assert os.path.exists(source), os.path.join(folder, name)


def check_compiled_modules_are_used():
    code = "import numpy, pandas, matplotlib.pyplot, scipy.stats, sklearn.svm, sympy, openpyxl, PIL.Image"
    done = subprocess.run([sys.executable, "-v", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-1000:]
    sources = [line for line in done.stderr.splitlines() if line.startswith("# code object from") and ".pyc" not in line]
    assert not sources and done.stderr.count(".pyc") > 1000, sources[:5]


def check_the_user_is_nonroot_and_the_only_one():
    import getpass
    import grp
    import pwd

    assert os.getresuid() == (65532,) * 3 and os.getresgid() == (65532,) * 3
    assert [entry.pw_name for entry in pwd.getpwall()] == ["nonroot"] and len(grp.getgrall()) == 1
    entry = pwd.getpwuid(os.getuid())
    assert (entry.pw_uid, entry.pw_gid, entry.pw_dir, entry.pw_shell) == (65532, 65532, "/home/nonroot", "/bin/sh")
    assert getpass.getuser() == "nonroot" and os.path.expanduser("~") == "/home/nonroot"
    assert shell("whoami; id -un; id -G") == "nonroot\nnonroot\n65532\n"


def check_locale_is_utf_8():
    import locale

    assert locale.setlocale(locale.LC_ALL, "") == "C.UTF-8" and locale.setlocale(locale.LC_ALL, "C.UTF-8")
    assert sys.getfilesystemencoding() == "utf-8" and sys.stdout.encoding.lower() == "utf-8"
    assert shell("printf 'Zürich' | wc -m") == "6\n" and shell("printf 'ü' | grep -c '^.$'") == "1\n"


def check_time_zones():
    import datetime
    import time
    import zoneinfo

    summer = datetime.datetime(2024, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    assert summer.utcoffset() == datetime.timedelta(hours=2) and time.tzname == ("UTC", "UTC")
    zones = zoneinfo.available_timezones()
    assert len(zones) > 500 and {"Asia/Tokyo", "US/Eastern", "UTC", "Etc/UTC"} <= zones
    assert shell("TZ=Asia/Tokyo date -d '2024-01-01 00:00 UTC' +%H%Z") == "09JST\n"
    assert os.path.realpath("/etc/localtime").endswith("Etc/UTC")


def check_names_resolve_without_a_network_or_fail_at_once():
    import socket
    import time

    began = time.monotonic()
    assert socket.getaddrinfo("localhost", 80, socket.AF_INET)[0][4][0] == "127.0.0.1"
    for name in ("example.com", "no-such-host.invalid", "metadata.google.internal"):
        try:
            socket.getaddrinfo(name, 443)
        except socket.gaierror as error:
            assert error.errno in (socket.EAI_NONAME, socket.EAI_AGAIN), error
        else:
            raise AssertionError(name + " resolved")
    assert time.monotonic() - began < 1


def check_shell_pipelines():
    assert shell("printf 'b 2\\na 1\\nc 3\\n' | sort | awk '{s += $2} END {print s}'") == "6\n"
    assert shell("seq 10 | grep 1 | sed s/1/x/ | tr '\\n' ' '") == "x x0 "
    assert shell("mkdir -p t/e && touch t/e/f && find t -name f -type f | xargs ls -l | wc -l && rm -r t") == "1\n"
    assert shell("echo one > a; echo two > b; diff a b | tail -n 1; cut -c1-2 a; head -c 1 b") == "> two\non" "\nt"
    assert shell("tar czf t.tgz a b && tar tzf t.tgz && gunzip -c t.tgz | wc -c | awk '$1 > 1000 {print \"big\"}'") == "a\nb\nbig\n"
    assert shell("printf '1\\n1\\n2\\n' | uniq -c | awk '{print $1}' | paste -sd, -") == "2,1\n"
    assert shell("cp a c && mv c d && ln -s d l && readlink l && chmod 600 d && stat -c %a d && rmdir --help | head -c 5") == \
        "d\n600\nUsage"
    assert shell("date -u -d @0 +%F; basename /x/y.z .z; dirname /x/y; env -i A=b env; printf '%s' x | md5sum | cut -c1-4") == \
        "1970-01-01\ny\n/x\nA=b\n9dd4\n"
    assert shell("df -P /tmp | tail -n 1 | awk '{print $6}'; du -s /etc | wc -l; true && ! false && which sh python3") == \
        "/tmp\n1\n/usr/bin/sh\n/usr/local/bin/python3\n"
    assert shell("for i in 1 2 3; do [ $i -gt 1 ] && expr $i \\* 2; done; yes | head -n 2 | tee x | wc -l; timeout 5 sleep 0") == \
        "4\n6\n2\n"


def check_every_program_runs():
    """A missing library shows as status 127."""
    for name in sorted(os.listdir("/usr/bin")):
        if name in ("yes", "true", "false", "[", "test"):
            continue
        done = subprocess.run([f"/usr/bin/{name}", "--version" if name not in ("sh", "dash") else "-c"], timeout=20,
                              stdin=subprocess.DEVNULL, capture_output=True)
        assert done.returncode < 126, (name, done)
        assert b"error while loading shared libraries" not in done.stderr, (name, done.stderr)


def check_every_library_finds_what_it_needs():
    from concurrent.futures import ThreadPoolExecutor

    def traced(path):
        done = subprocess.run([loader, path], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True)
        return path, done.stdout + done.stderr

    loader = next(p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(p))
    files = []
    for folder, _, names in os.walk("/usr"):
        for name in names:
            path = os.path.join(folder, name)
            if (".so" in name or folder.endswith("/bin")) and not os.path.islink(path) and name != os.path.basename(loader):
                with open(path, "rb") as file:
                    if file.read(4) == b"\x7fELF":
                        files.append(path)
    assert len(files) > 300, len(files)
    with ThreadPoolExecutor(4) as pool:
        for path, text in pool.map(traced, files):
            assert "not found" not in text and "error" not in text, (path, text)


def check_nothing_can_be_installed():
    for name in ("pip", "ensurepip", "setuptools", "pkg_resources", "wheel", "uv", "conda", "distutils"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        raise AssertionError(name + " is there")
    done = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, text=True)
    assert done.returncode == 1 and "No module named pip" in done.stderr, done


def check_nothing_outside_the_own_folders_can_be_written():
    own = ("/proc", "/dev", "/tmp", "/mnt/data", "/home/nonroot")
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in own]
        for path in [folder, *(os.path.join(folder, name) for name in names)]:
            if not os.path.islink(path):
                assert not os.access(path, os.W_OK), path
                assert os.access(path, os.R_OK), path
    for path in ("/etc/passwd", f"{LIBRARY}/os.py", "/new", f"{LIBRARY}/site-packages/x.pth"):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        except OSError:
            continue
        raise AssertionError(path + " was opened for writing")


def check_processes_and_threads():
    import multiprocessing
    import threading

    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(abs, [-1, -2]) == [1, 2], method
    numbers = []
    thread = threading.Thread(target=numbers.append, args=(1,))
    thread.start()
    thread.join()
    assert numbers == [1]


def check_types_of_files_are_known():
    import mimetypes

    known = {"a.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "a.csv": "text/csv",
             "a.png": "image/png", "a.svg": "image/svg+xml", "a.webp": "image/webp", "a.parquet": "application/vnd.apache.parquet"}
    for name, kind in known.items():
        assert mimetypes.guess_type(name)[0] == kind, (name, mimetypes.guess_type(name))


def check_help_and_tracebacks_show_sources():
    import inspect
    import json
    import pydoc

    assert "def dumps" in inspect.getsource(json.dumps) and "dumps" in pydoc.render_doc(json)


def check_nothing_tells_of_the_build_machine():
    import sysconfig

    for name, value in sysconfig.get_config_vars().items():
        assert ".pyenv" not in str(value) and "/root" not in str(value), (name, value)
    import json

    for module in ("json", "pandas", "scipy", "sympy"):
        code = importlib.import_module(module).__spec__.loader.get_code(module)
        place = "" if module == "json" else "site-packages/"
        assert code.co_filename == f"{LIBRARY}/{place}{module}/__init__.py", code.co_filename
