"""The image's libraries in their typical uses, under the filter and the limits, quietly."""
import base64
import io
import json
import zipfile

import pytest

PNG = b"\x89PNG\r\n\x1a\n"

QUIET = {
    "numpy": ("import numpy as np; print(int((np.eye(64) @ np.eye(64)).sum()), np.linalg.svd(np.eye(3))[1])", "64 [1. 1. 1.]\n"),
    "numpy after a fork": (
        "import os, numpy as np\na = np.eye(300) * 2\nnp.linalg.inv(a)\npid = os.fork()\nif pid == 0:\n"
        "    os._exit(0 if abs(np.linalg.inv(a)[0, 0] - 0.5) < 1e-9 else 1)\nprint(os.waitpid(pid, 0)[1], np.linalg.inv(a)[5, 5])",
        "0 0.5\n"),
    "pandas": (
        "import pandas as pd\nd = pd.DataFrame({'g': list('aab'), 'n': [1, 2, 3]})\nprint(d.groupby('g').n.sum().to_dict(), "
        "d.describe().loc['mean', 'n'], pd.date_range('2024-01-31', periods=2, freq='ME').strftime('%F').tolist())",
        "{'a': 3, 'b': 3} 2.0 ['2024-01-31', '2024-02-29']\n"),
    "pandas reads and writes": (
        "import pandas as pd\nd = pd.DataFrame({'city': ['上海', 'Zürich'], 'n': [1, 2]})\nd.to_csv('a.csv', index=False)\n"
        "d.to_excel('a.xlsx', index=False)\nd.to_json('a.json')\nd.to_pickle('a.pkl')\n"
        "print(pd.read_csv('a.csv').equals(d), pd.read_excel('a.xlsx').equals(d), pd.read_json('a.json').equals(d), pd.read_pickle('a.pkl').equals(d))",
        "True True True True\n"),
    "pandas and sqlite": (
        "import pandas as pd, sqlite3\nc = sqlite3.connect(':memory:')\npd.DataFrame({'a': [1, 2]}).to_sql('t', c, index=False)\n"
        "print(pd.read_sql('select sum(a) s from t', c).s[0])", "3\n"),
    "scipy": (
        "from scipy import optimize, stats, integrate, linalg, sparse, signal, fft, interpolate, spatial\n"
        "print(round(optimize.brentq(lambda t: t * t - 2, 0, 2), 6), round(stats.norm.cdf(0), 2), round(integrate.quad(lambda x: x, 0, 2)[0], 6),"
        " spatial.distance.euclidean([0, 0], [3, 4]))", "1.414214 0.5 2.0 5.0\n"),
    "scikit-learn": (
        "from sklearn.linear_model import LinearRegression\nfrom sklearn.ensemble import RandomForestClassifier\nfrom sklearn.datasets import load_iris\n"
        "m = LinearRegression().fit([[0], [1], [2]], [1, 3, 5])\nX, y = load_iris(return_X_y=True)\n"
        "print(round(float(m.predict([[3]])[0]), 3), RandomForestClassifier(10, random_state=0).fit(X, y).score(X, y) > 0.9)", "7.0 True\n"),
    "scikit-learn in parallel": (
        "from sklearn.ensemble import RandomForestClassifier\nfrom sklearn.model_selection import cross_val_score\nfrom sklearn.datasets import load_iris\n"
        "X, y = load_iris(return_X_y=True)\nprint(len(cross_val_score(RandomForestClassifier(5, random_state=0), X, y, cv=3, n_jobs=2)))", "3\n"),
    "sympy": ("import sympy as s; x = s.Symbol('x'); print(s.integrate(x * s.sin(x), x), s.solve(x**2 - 2))",
              "-x*cos(x) + sin(x) [-sqrt(2), sqrt(2)]\n"),
    "openpyxl": (
        "import openpyxl\nw = openpyxl.Workbook(); w.active['A1'] = '=1+1'; w.save('w.xlsx')\nprint(openpyxl.load_workbook('w.xlsx').active['A1'].value)", "=1+1\n"),
    "pillow": (
        "from PIL import Image, ImageDraw, ImageFont\ni = Image.new('RGB', (40, 20), 'red')\nImageDraw.Draw(i).text((1, 1), 'hé')\n"
        "for kind in ('png', 'jpeg', 'gif', 'bmp', 'tiff', 'webp'):\n    i.save('/tmp/i.' + kind); assert Image.open('/tmp/i.' + kind).size == (40, 20)\nprint('ok')", "ok\n"),
    "joblib processes": (
        "from joblib import Parallel, delayed\ndef f(x):\n    return x * x\nprint(Parallel(n_jobs=2)(delayed(f)(x) for x in range(5)))", "[0, 1, 4, 9, 16]\n"),
    "joblib threads": (
        "from joblib import Parallel, delayed\nprint(Parallel(n_jobs=4, backend='threading')(delayed(abs)(-x) for x in range(5)))", "[0, 1, 2, 3, 4]\n"),
    "joblib memory": ("from joblib import Memory\nm = Memory('/tmp/cache', verbose=0)\n@m.cache\ndef f(x): return x + 1\nprint(f(1), f(1))", "2 2\n"),
    "sqlite in WAL mode": (
        "import os, sqlite3\nc = sqlite3.connect('t.db')\nprint(c.execute('pragma journal_mode=wal').fetchone()[0])\nc.execute('create table t(n)')\n"
        "c.executemany('insert into t values(?)', [(1,), (2,)])\nc.commit()\nprint(c.execute('select sum(n) from t').fetchone()[0])\nc.close()\nprint(os.listdir('.'))",
        "wal\n3\n['t.db']\n"),
    "compression": (
        "import gzip, bz2, lzma, zlib, zipfile, tarfile, io\nd = b'x' * 1000\n"
        "print(all(m.decompress(m.compress(d)) == d for m in (gzip, bz2, lzma, zlib)))\nwith zipfile.ZipFile('z.zip', 'w') as z: z.writestr('a', 'b')\n"
        "with tarfile.open('t.tar.gz', 'w:gz') as t: t.add('z.zip')\nprint(tarfile.open('t.tar.gz').getnames())", "True\n['z.zip']\n"),
    "time zones": (
        "from zoneinfo import ZoneInfo, available_timezones\nfrom datetime import datetime, timezone\nt = datetime(2024, 7, 1, 12, tzinfo=timezone.utc)\n"
        "print(t.astimezone(ZoneInfo('Asia/Shanghai')).isoformat(), t.astimezone(ZoneInfo('America/New_York')).strftime('%H:%M %Z'), len(available_timezones()) > 400)",
        "2024-07-01T20:00:00+08:00 08:00 EDT True\n"),
    "local time is UTC": ("import time; print(time.tzname[0], time.localtime(0).tm_hour)", "UTC 0\n"),
    "encodings": (
        "import locale, sys\nopen('t', 'w').write('ầ')\nprint(open('t', 'rb').read(), sys.stdout.encoding, sys.getfilesystemencoding(), locale.getpreferredencoding())",
        "b'\\xe1\\xba\\xa7' utf-8 utf-8 UTF-8\n"),
    "temporary files": (
        "import tempfile, os\nwith tempfile.NamedTemporaryFile() as f, tempfile.TemporaryDirectory() as d, tempfile.TemporaryFile() as g:\n    print(f.name.startswith('/tmp/'), os.path.isdir(d))",
        "True True\n"),
    "mmap": ("import mmap\nm = mmap.mmap(-1, 4096); m[:3] = b'abc'; print(m[:3])", "b'abc'\n"),
    "file locks": ("import fcntl\nf = open('l', 'w'); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); print('locked')", "locked\n"),
    "ssl and hashes": ("import ssl, hashlib; ssl.create_default_context(); print(hashlib.sha3_256(b'').hexdigest()[:8])", "a7ffc6f8\n"),
    "ctypes callbacks": (
        "import ctypes\nc = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))\na = (ctypes.c_int * 3)(3, 1, 2)\n"
        "ctypes.CDLL(None).qsort(a, 3, 4, c(lambda x, y: x[0] - y[0]))\nprint(list(a))", "[1, 2, 3]\n"),
    "selectors and polls": (
        "import select, os\nr, w = os.pipe(); os.write(w, b'x')\np = select.epoll(); p.register(r); print(len(p.poll(1)), len(select.select([r], [], [], 1)[0]))", "1 1\n"),
    "faulthandler": ("import faulthandler; faulthandler.enable(); faulthandler.dump_traceback_later(100); faulthandler.cancel_dump_traceback_later(); print('on')", "on\n"),
    "logging": ("import logging, sys; logging.basicConfig(stream=sys.stdout); logging.warning('w')", "WARNING:root:w\n"),
    "decimal and big integers": ("from decimal import Decimal; print(Decimal('0.1') + Decimal('0.2'), len(str(2**10000)))", "0.3 3011\n"),
    "networkless urllib": (
        "import urllib.request, urllib.error\ntry:\n    urllib.request.urlopen('http://example.invalid/', timeout=5)\nexcept urllib.error.URLError:\n    print('blocked')", "blocked\n"),
}


@pytest.mark.parametrize("name", QUIET)
def test_works_quietly(service, name):
    code, expected = QUIET[name]
    reply = service.execute(code, timeout_s=60)
    assert reply.stdout == expected, reply
    assert reply.stderr == "" and reply.outcome == "ok"


@pytest.mark.parametrize("kind, magic", [("png", PNG), ("pdf", b"%PDF-"), ("svg", b"<?xml"), ("jpg", b"\xff\xd8\xff"), ("eps", b"%!PS")])
def test_matplotlib_saves(service, kind, magic):
    reply = service.run(f"""
        import matplotlib.pyplot as plt
        figure, axes = plt.subplots()
        axes.plot([1, 3, 2], label="größe Ω Я"); axes.legend(framealpha=1); axes.set_title("Title")
        figure.savefig("chart.{kind}")
        """)
    assert reply.contents["chart." + kind].startswith(magic)
    assert reply.stderr == "", "no font cache, no configuration folder, no backend messages"
    assert list(reply.contents) == ["chart." + kind]


def test_matplotlib_show_gives_a_result(service):
    reply = service.run("""
        import matplotlib, matplotlib.pyplot as plt
        plt.plot([1, 2, 3])
        plt.show()
        print(matplotlib.get_backend().lower())
        """)
    assert reply.exit_code == 0 and reply.stdout.startswith(("agg", "module://"))
    pictures = [result for result in reply.results if "image/png" in result]
    assert len(pictures) == 1
    assert base64.b64decode(pictures[0]["image/png"]).startswith(PNG)


def test_show_before_savefig_saves_the_figure(service):
    reply = service.run("""
        import matplotlib.pyplot as plt
        from PIL import Image
        plt.plot([1, 3, 2])
        plt.show()
        plt.savefig("a.png")
        print(len(Image.open("a.png").convert("RGB").getcolors(100000)) > 5)
        """)
    assert reply.stdout == "True\n"


def test_two_figures_shown_come_in_order(service):
    reply = service.run("""
        import matplotlib.pyplot as plt
        plt.figure(figsize=(2, 1)); plt.plot([1]); plt.show()
        plt.figure(figsize=(1, 2)); plt.plot([2]); plt.show()
        """)
    sizes = [base64.b64decode(result["image/png"])[16:24] for result in reply.results if "image/png" in result]
    assert len(sizes) == 2
    (width1, height1), (width2, height2) = [(int.from_bytes(s[:4], "big"), int.from_bytes(s[4:], "big")) for s in sizes]
    assert width1 > height1 and width2 < height2


def test_data_frame_as_a_last_expression(service):
    reply = service.run("""
        import pandas as pd
        pd.DataFrame({"a": [1, 2], "b": ["x", "<y>"]})
        """)
    result, = reply.results
    assert "a" in result["text/plain"] and "&lt;y&gt;" in result.get("text/html", "&lt;y&gt;")
    assert reply.stdout == ""


def test_excel_file_is_whole(service):
    reply = service.run("""
        import pandas as pd
        pd.DataFrame({"city": ["上海", "Zürich"], "n": [1, 2]}).to_excel("r.xlsx", index=False)
        """)
    with zipfile.ZipFile(io.BytesIO(reply.contents["r.xlsx"])) as archive:
        assert archive.testzip() is None and "上海" in "".join(archive.read(n).decode() for n in archive.namelist() if n.endswith("xml"))


def test_environment_lists_the_libraries_that_are_there(service):
    environment = service.get("/v1/environment").json
    assert environment["python"].startswith("3.12.")
    promised = {"numpy", "pandas", "matplotlib", "scipy", "scikit-learn", "sympy", "openpyxl", "pillow"}
    packages = {name.lower(): version for name, version in environment["packages"].items()}
    assert promised <= set(packages)
    reply = service.run(f"""
        import importlib.metadata, json
        print(json.dumps({{name: importlib.metadata.version(name) for name in {sorted(promised)}}}))
        """)
    assert {name: packages[name] for name in promised} == json.loads(reply.stdout)


def test_no_way_to_install_anything(service):
    reply = service.run("""
        import importlib.util, shutil
        print([tool for tool in ("pip", "pip3", "uv", "apt", "apt-get", "dpkg", "curl", "wget", "ssh", "nc", "git", "gcc", "perl", "sudo", "su",
                                 "mount", "ping", "ip") if shutil.which(tool)])
        print([module for module in ("pip", "ensurepip", "setuptools") if importlib.util.find_spec(module)])
        """)
    assert reply.stdout == "[]\n[]\n"
