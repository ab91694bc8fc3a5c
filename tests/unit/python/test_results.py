"""Shown figures, pictures and last values come as results; standard output stays what was printed."""

import struct

import pytest

import runner_support as support

PNG = b"\x89PNG\r\n\x1a\n"


def size(picture: bytes) -> tuple:
    return struct.unpack(">II", picture[16:24])


# --- last values ---


@pytest.mark.parametrize("source, text", [
    ("40 + 2", "42"), ("x = 5\nx", "5"), ("x = 5\nx  # comment\n\n", "5"), ("'text'", "'text'"), ("1", "1"), ("True", "True"),
    ("(1,\n 2)", "(1, 2)"), ("[1,\n 2,\n]", "[1, 2]"), ("a = 1; a + 1", "2"), ("def f():\n    return 3\n\nf()", "3"),
    ("x = {'a': [1, (2,)], 'b': {3}}\nx", "{'a': [1, (2,)], 'b': {3}}"), ("'''long\nstring'''", "'long\\nstring'"),
    ("f'{1 + 1}'", "'2'"), ("lambda: 0", "<function <lambda> at 0x"), ("x = 3\nx if x else None", "3"), ("x = 0\nx or 'y'", "'y'"),
    ("x = [1, 2]\nx[0] < x[1] < 3", "True"), ("x = 1\r\nx\r\n", "1"), ("\ufeffx = 1\nx", "1"), ("from __future__ import annotations\n2 ** 10", "1024"),
    ("'doc string alone'", "'doc string alone'"), ("-5", "-5"), ("2 ** 0.5", "1.4142135623730951"), ("...", "Ellipsis"),
    ("import math\nmath.pi", "3.141592653589793"), ("try:\n    y = 1\nfinally:\n    pass\ny", "1"), ("x = 1\nx == 1 and 'yes'", "'yes'"),
    ("print('p')\nlen('abc')", "3"), ("# é\n'é'", "'é'"), ("x = '" + "a" * 300 + "'\n" + "y = 1\n" * 400 + "y", "1"),
    ("x = [" + ",".join(f"'{i}'" for i in range(400)) + "]\nlen(x)", "400"), ("'\\d'", "'\\\\d'"), ("\f1 + 1", "2"),
    ("print('p'); 6 * 7", "42"), ("x = 'b;c'; 5", "5"), ("x = 1;x;  'y'", "'y'"),
    ("open('f', 'w').write('abc')", "3"), ("b'x'", "b'x'"), ("1j", "1j"), ("not True", "False"),
    ("len('abc')\n7", "7"), ("5\nlen('abc')", "3"), ("import math\n\n'x' 'y'", "'xy'"), ("len('abc')\n# comment\n(1,\n2)\n", "(1, 2)"),
    ("if True:\n    len('x')\n8", "8"),
])
def test_value(runner, source, text):
    outcome = runner.run(source)
    assert outcome.exit_code == 0, outcome
    assert len(outcome.texts) == 1 and outcome.texts[0].startswith(text)
    assert outcome.stdout == ("p\n" if "print" in source else "")


@pytest.mark.parametrize("source", [
    "", "# nothing", "x = 5", "None", "print('a')", "x = 5\nx;", "len('abc');  # quiet", "1 + 1;", "5; print('a')", "x = '5; 6'", "if True:\n    5", "for i in range(3):\n    i",
    "def f(): 5", "def f(): return 5\nif f(): f()", "with open('f', 'w') as f:\n    f.write('x')", "import math", "x: int = 5", "x = 1\nx += 1",
    "try:\n    5\nexcept Exception:\n    6", "class A:\n    5", "while True:\n    5\n    break", "assert 5", "del_ = 1\ndel del_", "pass", "[].append(1)",
    "def f(): return 7\nif __name__ == '__main__': f()", "x = '''\nx\n'''", "def f(): return 1\nx = f(\n)", "match 1:\n    case 1: 5",
    "5\nimport sys; sys.exit()", "5\nraise ValueError", "def f(): return 5\nf() if False else None", "a = b = 1", "import os; os._exit(0)",
])
def test_no_value(runner, source):
    assert runner.run(source).results == []


def test_the_value_comes_after_the_start_and_the_output_stays(runner):
    outcome = runner.run("print('a')\nprint('b')\n1 + 1")
    assert [kind for kind, _, _ in outcome.frames] == [support.STARTED, support.RESULT]
    assert outcome.stdout == "a\nb\n" and outcome.results == [{"text/plain": "2"}]


def test_last_expression_fails_on_its_line(runner):
    outcome = runner.run("x = 1\n\n1 / 0")
    assert 'line 3, in <module>\n    1 / 0\n    ~~^~~\n' in outcome.stderr and outcome.results == []


@pytest.mark.parametrize("source, expected", [
    ("class A:\n    def __repr__(self): raise ValueError\nA()", "<A whose repr failed: ValueError>"),
    ("class A:\n    def __repr__(self): raise SystemExit(3)\nA()", "<A whose repr failed: SystemExit>"),
    ("import sys\nclass A:\n    def _repr_html_(self): sys.exit(3)\n    def __repr__(self): return 'A'\nA()", "A"),
    ("class A:\n    def __repr__(self): return 5\nA()", "<A whose repr failed: TypeError>"),
    ("class A:\n    def __repr__(self):\n        while True: pass\nA()", "<A whose repr took too long>"),
    ("x = []\nx.append(x)\nx", "[[...]]"), ("x = {}\nx['a'] = x\nx", "{'a': {...}}"), ("10 ** 5000", "<integer of 16610 bits>"),
    ("x = 'a\\ud800b'\nx", "'a\\ud800b'"), ("class A:\n    def __repr__(self): return 'a\\ud800b'\nA()", "a?b"),
    ("x = ()\nfor _ in range(100000): x = (x,)\nx", "(" * 40),
])
def test_values_that_resist(runner, source, expected):
    outcome = runner.run(source)
    assert outcome.exit_code == 0 and outcome.stdout == "" and outcome.stderr == ""
    assert len(outcome.texts) == 1 and outcome.texts[0].startswith(expected)
    assert outcome.seconds < 30


@pytest.mark.parametrize("source", [
    "list(range(3_000_000))", "'x' * 50_000_000", "{i: str(i) for i in range(500_000)}", "import numpy as np\n[np.arange(10)] * 100_000",
    "b'x' * 10_000_000", "[['x' * 1000] * 1000] * 1000", "import collections\ncollections.Counter(range(300_000))",
    "class A:\n    def __repr__(self): return 'y' * 20_000_000\nA()",
])
def test_huge_values_are_cut(runner, source):
    outcome = runner.run(source)
    assert outcome.exit_code == 0
    (text,) = outcome.texts
    assert 10 < len(text) < 200_000
    assert text.endswith("…") or " items>" in text


def test_rich_forms(runner):
    outcome = runner.run("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', '<y>']})")
    (result,) = outcome.results
    assert "<table" in result["text/html"] and "&lt;y&gt;" in result["text/html"] and "0  1    x" in result["text/plain"]


def test_own_rich_forms(runner):
    outcome = runner.run(
        "class A:\n    def __repr__(self): return 'A'\n    def _repr_html_(self): return '<b>'\n    def _repr_png_(self): return b'\\x89PNG'\n"
        "    def _repr_json_(self): return {'a': 1}\n    def _repr_svg_(self): raise ValueError\n    def _repr_latex_(self): return None\n"
        "    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/x': 'own', 5: 'no'}\nA()")
    assert outcome.results == [{
        "text/plain": "A", "text/html": "<b>", "image/png": "iVBORw==", "application/json": '{"a": 1}', "text/x": "own"}]
    assert outcome.stderr == ""


def test_objects_that_answer_to_everything(runner):
    outcome = runner.run("class A:\n    def __getattr__(self, name): return lambda *a: name\n    def __repr__(self): return 'A'\nA()")
    assert outcome.results == [{"text/plain": "A"}]


def test_a_value_with_a_rich_form_that_is_too_large(runner):
    outcome = runner.run("class A:\n    def __repr__(self): return 'A'\n    def _repr_html_(self): return 'x' * 30_000_000\nA()")
    assert outcome.results == [{"text/plain": "A"}]


def test_a_snippet_s_own_timer_survives(runner):
    outcome = runner.run(
        "import signal, threading, time\nsignal.signal(signal.SIGALRM, lambda *_: print('rang'))\nsignal.setitimer(signal.ITIMER_REAL, .3)\n"
        "threading.Thread(target=time.sleep, args=(.6,)).start()\n[1]")
    assert outcome.stdout == "rang\n" and outcome.texts == ["[1]"]


# --- figures ---


def test_shown_figure(runner):
    outcome = runner.run("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()\nprint(plt.get_fignums())")
    assert outcome.stdout == "[1]\n" and outcome.stderr == ""
    (result,) = outcome.results
    assert outcome.pictures[0].startswith(PNG) and size(outcome.pictures[0])[0] > 300
    assert result["text/plain"] == "<Figure size 640x480 with 1 Axes>"


def test_a_shown_figure_comes_at_once(runner):
    outcome = runner.run("import matplotlib.pyplot as plt, os\nplt.plot([1, 2])\nplt.show()\nos.kill(os.getpid(), 9)")
    assert len(outcome.pictures) == 1 and outcome.exit_code == -9


@pytest.mark.parametrize("source, count", [
    ("plt.plot([1]); plt.show(); plt.show()", 1),  # unchanged
    ("plt.plot([1]); plt.show(); plt.title('new'); plt.show()", 2),
    ("plt.figure(); plt.plot([1]); plt.show(); plt.figure(); plt.plot([2]); plt.show()", 2),
    ("plt.plot([1])", 1),  # left open, never seen
    ("plt.plot([1]); plt.savefig('a.png')", 0),
    ("plt.plot([1]); plt.gcf().savefig('a.svg')", 0),
    ("plt.plot([1]); plt.savefig('a.png', bbox_inches='tight', dpi=50); plt.show()", 1),
    ("plt.plot([1]); plt.close()", 0),
    ("plt.plot([1]); plt.show(); plt.close()", 1),
    ("x = plt.figure()", 0),  # empty
    ("plt.figure()", 0),
    ("fig, ax = plt.subplots()\nfig.show()", 1),
    ("fig, ax = plt.subplots()\nfig", 1),  # the value of a last expression, and open: once
    ("fig, ax = plt.subplots()\nplt.show()\nfig", 1),
    ("from matplotlib.figure import Figure\nfig = Figure(); fig.add_subplot().plot([1])\nfig", 1),  # not pyplot's
    ("fig, ax = plt.subplots()\nplt.close(fig)\nfig", 1),
    ("plt.plot([1]); import sys; sys.exit(0)", 1),
    ("fig = plt.figure(); fig.text(.5, .5, 'only text')", 1),
    ("for i in range(3):\n    plt.figure(); plt.plot([i])\nplt.show()", 3),
    ("plt.ion(); plt.plot([1]); plt.pause(.01)", 1),
    ("import matplotlib; matplotlib.use('svg'); plt.plot([1]); plt.show()", 1),
    ("import pandas as pd; pd.Series([1, 2]).plot(); plt.show()", 1),
])
def test_how_many_pictures(runner, source, count):
    outcome = runner.run("import matplotlib.pyplot as plt\n" + source)
    assert outcome.exit_code == 0 and outcome.stdout == "" and outcome.stderr == "", outcome
    assert len(outcome.pictures) == count
    assert all(picture.startswith(PNG) for picture in outcome.pictures)


def test_figures_of_a_snippet_that_fails(runner):
    outcome = runner.run("import matplotlib.pyplot as plt\nplt.plot([1])\n1 / 0")
    assert outcome.exit_code == 1 and len(outcome.pictures) == 1


def test_pictures_come_in_order(runner):
    outcome = runner.run(
        "import matplotlib.pyplot as plt\nplt.figure(figsize=(2, 1)); plt.plot([1]); plt.show()\nplt.figure(figsize=(1, 2)); plt.plot([2]); plt.show()")
    (w1, h1), (w2, h2) = map(size, outcome.pictures)
    assert w1 > h1 and w2 < h2


def test_a_huge_figure_is_shown_smaller(runner):
    outcome = runner.run(
        "import matplotlib.pyplot as plt, numpy as np\nplt.figure(figsize=(8, 8), dpi=250)\n"
        "plt.imshow(np.random.default_rng(1).random((2000, 2000, 3)), interpolation='nearest'); plt.show()")
    (picture,) = outcome.pictures
    assert picture.startswith(PNG) and len(picture) < 6 << 20


def test_no_more_results_than_are_allowed(runner):
    outcome = runner.run("from PIL import Image\nfor i in range(130):\n    Image.new('L', (i + 1, 1)).show()\n'last'")
    assert [size(picture)[0] for picture in outcome.pictures] == list(range(1, 101))
    assert len(outcome.results) == 100 and outcome.exit_code == 0


def test_no_more_bytes_than_are_allowed(runner):
    outcome = runner.run(
        "from PIL import Image\nimport os\nfor i in range(8):\n    Image.frombytes('L', (2000, 1000), os.urandom(2_000_000)).show()\nprint('x')")
    assert outcome.stdout == "x\n" and outcome.exit_code == 0
    sizes = [len(payload) for kind, payload, _ in outcome.frames if kind == support.RESULT]
    assert sum(sizes) <= 16 << 20 and sum(size > 2_000_000 for size in sizes) == 6, sizes


def test_a_figure_that_cannot_be_drawn(runner):
    outcome = runner.run("import matplotlib.pyplot as plt\nplt.title('$\\\\frac{1$')\nplt.show()\nprint('on')")
    assert outcome.stdout == "on\n" and outcome.stderr == "" and outcome.results == []


def test_warnings_as_errors_do_not_spoil_a_figure(runner):
    outcome = runner.run("import warnings\nwarnings.simplefilter('error')\nimport matplotlib.pyplot as plt\nplt.title('\\u0f00'); plt.show()")
    assert len(outcome.pictures) == 1 and outcome.stderr == "" and outcome.exit_code == 0


def test_figures_of_forked_children_are_not_mixed_in(runner):
    outcome = runner.run(
        "import matplotlib.pyplot as plt, os\nplt.plot([1])\nif os.fork() == 0:\n    plt.show(); raise SystemExit\nos.wait()\nplt.show()")
    assert len(outcome.pictures) == 1 and outcome.exit_code == 0


def test_figures_from_threads(runner):
    outcome = runner.run(
        "import threading\nfrom matplotlib.figure import Figure\nfrom matplotlib.backends.backend_agg import FigureCanvasAgg\n"
        "from matplotlib.backend_bases import FigureManagerBase\ndef f(n):\n    fig = Figure(figsize=(1 + n, 1)); fig.add_subplot()\n"
        "    FigureManagerBase(FigureCanvasAgg(fig), n).show()\nts = [threading.Thread(target=f, args=(n,)) for n in range(4)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]\nprint('done')")
    assert outcome.stdout == "done\n" and outcome.stderr == "" and outcome.exit_code == 0
    assert 1 <= len(outcome.pictures) <= 4


def test_pillow_shows(runner):
    outcome = runner.run(
        "from PIL import Image\nfor mode in ('RGB', 'RGBA', 'L', '1', 'P', 'CMYK', 'F', 'HSV', 'LAB'):\n    Image.new(mode, (20, 10)).show()\nprint('x')")
    assert outcome.stdout == "x\n" and outcome.stderr == ""
    assert [size(picture) for picture in outcome.pictures] == [(20, 10)] * 9


def test_pillow_image_as_a_last_value(runner):
    outcome = runner.run("from PIL import Image\nImage.new('RGB', (20, 10))")
    assert size(outcome.pictures[0]) == (20, 10)


def test_savefig_of_a_missing_glyph_warns_about_the_user_s_line(runner):
    outcome = runner.run("import matplotlib.pyplot as plt\nplt.title('\\u0f00')\n\nplt.savefig('a.png')")
    assert outcome.stderr.startswith("/home/nonroot/main.py:4: UserWarning: Glyph 3840") and outcome.stderr.endswith("  plt.savefig('a.png')\n")
