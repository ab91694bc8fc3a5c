"""Files in and out."""
from e2e.cases import case
from support.client import bytes_file, text_file

ODD = "not_a_regular_file"

CASES = [
    case("names with spaces, accents and Chinese characters", """
        rows = open("Données – été 1.csv").read().split()
        open("结果 表.csv", "w").write("\\n".join(reversed(rows)))
        print(len(rows))
        """, "danny-avila/LibreChat #7867, #8398", {"files": [text_file("Données – été 1.csv", "a\nb\nc\n")]}, stdout="3\n", files={"结果 表.csv": "c\nb\na"}),
    case("names with every sign", "import os\nprint(sorted(os.listdir('.')))", request={"files": [text_file(n, "x") for n in ("a&b", "a'b", 'a"b', "a;b", "$(a)", "a\\b", "a*?", "~", "-a", ".hidden", "a%20b", "#1", "a=b", "😀")]},
         stdout="['#1', '$(a)', '-a', '.hidden', 'a\"b', 'a%20b', 'a&b', \"a'b\", 'a*?', 'a;b', 'a=b', 'a\\\\b', '~', '😀']\n", names=[]),
    case("the two forms of one accented name are two names", "open('e\\u0301', 'w').write('1'); open('\\u00e9', 'w').write('2')", files={"e\u0301": "1", "\u00e9": "2"}),
    case("a hidden file comes back", "open('.env', 'w').write('x')", files={".env": "x"}),
    case("two inputs with one name", "print(open('a.txt').read())", "danny-avila/LibreChat #15443", {"files": [text_file("a.txt", "one"), text_file("a.txt", "two")]}, status=400, message_has="a.txt"),
    case("and after it, one", "print(open('a.txt').read())", "danny-avila/LibreChat #15443", {"files": [text_file("a.txt", "one")]}, stdout="one\n"),
    *[case(f"a name that leaves the folder: {name!r}", "print(1)", "c2siorg/GDB-UI #139" if index == 0 else None, {"files": [text_file(name, "x")]}, status=400)
      for index, name in enumerate(["../up.txt", "/etc/passwd", "a/../../up.txt", "", ".", "..", "bad\0name", "a/./b", "a//b", "/", "a/", "../../mnt/data/x", "\0"])],
    case("a name that only looks as if it left the folder", "import os\nprint(sorted(os.listdir('.')))", request={"files": [text_file("..a", "x"), text_file("...", "y"), text_file("a..b", "z"), text_file("..\\..\\c", "w")]},
         stdout="['...', '..\\\\..\\\\c', '..a', 'a..b']\n"),
    case("a file in a subfolder", "import os\nos.makedirs('out/2024')\nopen('out/2024/q1.txt', 'w').write('42')\nprint('saved')", "ohwgiles/laminar #150, StanfordSNR/gg #45", stdout="saved\n", files={"out/2024/q1.txt": "42"}),
    case("pipes, links and devices", """
        import os
        os.mkfifo("p")
        os.symlink("/etc/passwd", "s")
        os.symlink("/dev/zero", "z")
        os.symlink("loop", "loop")
        open("ok.txt", "w").write("fine")
        print("made")
        """, "python-discord/snekbox #159", stdout="made\n", files={"ok.txt": "fine"}, skipped={"p": ODD, "s": ODD, "z": ODD, "loop": ODD}, seconds=4),
    case("a link to a folder with files", "import os\nos.mkdir('d'); open('d/f', 'w').write('1'); os.symlink('d', 'e'); os.symlink('/usr', 'u')", files={"d/f": "1"}, skipped={"e": ODD, "u": ODD}, seconds=4),
    case("one file over the limit, one small", "open('big.csv', 'w').write('x' * 5000000)\nopen('small.csv', 'w').write('a,b\\n')\nprint('ok')", "python-discord/snekbox #183", stdout="ok\n", files={"small.csv": "a,b\n"}, skipped={"big.csv": "too_large"}),
    case("a file of no bytes", "open('empty.txt', 'w').close()\nprint('ok')", "griptape-ai/griptape-nodes-engine #3800", stdout="ok\n", files={"empty.txt": ""}),
    case("an input of no bytes", "import os\nprint(os.path.getsize('e'))", request={"files": [text_file("e", ""), bytes_file("f", b"")]}, stdout="0\n", names=[]),
    case("an overwritten input with the old time stamp", "import os\nst = os.stat('data.csv')\nopen('data.csv', 'w').write('b,2\\n')\nos.utime('data.csv', ns=(st.st_atime_ns, st.st_mtime_ns))\nprint('changed')",
         "python-discord/snekbox #173", {"files": [text_file("data.csv", "a,1\n")]}, stdout="changed\n", files={"data.csv": "b,2\n"}),
    case("an input that was only read", "print(open('data.csv').read(), end='')", "python-discord/snekbox #173", {"files": [text_file("data.csv", "a,1\n")]}, stdout="a,1\n", names=[]),
    case("an input that was touched", "import os, time\ntime.sleep(0.05)\nos.utime('data.csv'); os.chmod('data.csv', 0o600)", request={"files": [text_file("data.csv", "a")]}, names=[]),
    case("an input that was moved", "import os\nos.rename('a', 'b')", request={"files": [text_file("a", "1")]}, files={"b": "1"}),
    case("two inputs that were exchanged", "import os\nos.rename('a', 't'); os.rename('b', 'a'); os.rename('t', 'b')", request={"files": [text_file("a", "1"), text_file("b", "2")]}, files={"a": "2", "b": "1"}),
    case("an input that became a link", "import os\nos.unlink('a'); os.symlink('/etc/passwd', 'a')", request={"files": [text_file("a", "1")]}, names=[], skipped={"a": ODD}),
    case("an input that became a folder", "import os\nos.unlink('a'); os.mkdir('a'); open('a/b', 'w').write('2')", request={"files": [text_file("a", "1")]}, files={"a/b": "2"}),
    case("an input whose end was cut", "open('a', 'r+').truncate(1)", request={"files": [text_file("a", "12")]}, files={"a": "1"}),
    case("files written before an error", "open('part.txt', 'w').write('half')\nraise ValueError('later')", "danny-avila/LibreChat #15443", exit_code=1, files={"part.txt": "half"}, stderr_has="ValueError: later"),
    case("files written before a time-out", "f = open('part.txt', 'w')\nf.write('half')\nf.flush()\nwhile True: pass", "danny-avila/LibreChat #15443", {"timeout_s": 0.8}, exit_code=-1, outcome="timeout", files={"part.txt": "half"}),
    case("files written before running out of memory", "open('part.txt', 'w').write('half')\nx = []\nwhile True: x.append(bytearray(b'x' * 10_000_000))", exit_code=137, outcome="out_of_memory", files={"part.txt": "half"}),
    case("files written before a crash", "open('part.txt', 'w').write('half')\nimport os; os.abort()", exit_code=134, files={"part.txt": "half"}),
    case("files written before a syntax error of a module", "open('bad.py', 'w').write('x = (')\nimport bad", exit_code=1, files={"bad.py": "x = ("}, stderr_has="was never closed"),
    case("a file that is not closed", "f = open('open.txt', 'w')\nf.write('kept')", files={"open.txt": "kept"}),
    case("a module that was just written", "open('helper_mod.py', 'w').write('VALUE = 42\\n')\nimport helper_mod\nprint(helper_mod.VALUE)", "pyodide/pyodide #737, Cloud-CV/EvalAI #2102", stdout="42\n", names=["helper_mod.py"]),
    case("a module that was just written, after a failed import", "try:\n    import later\nexcept ImportError:\n    open('later.py', 'w').write('V = 1')\nimport later\nprint(later.V)", stdout="1\n", names=["later.py"]),
    case("a module given as an input", "import given\nprint(given.f())", request={"files": [text_file("given.py", "def f(): return 7")]}, stdout="7\n", names=[]),
    case("a package given as an input", "from pkg.sub import v\nprint(v)", request={"files": [text_file("pkg/__init__.py", ""), text_file("pkg/sub.py", "v = 8")]}, stdout="8\n", names=[]),
    case("a user's file named like a standard module", "open('json.py', 'w').write(\"raise RuntimeError('shadow')\")\nopen('traceback.py', 'w').write(\"raise RuntimeError('shadow')\")\n1 / 0",
         "langgenius/dify-sandbox #39", exit_code=1, stderr_end="ZeroDivisionError: division by zero\n", stderr_lacks="shadow"),
    case("inputs named like standard modules", "1 / 0", request={"files": [text_file(n + ".py", "raise RuntimeError('shadow')") for n in ("os", "io", "traceback", "linecache", "tokenize", "re", "types", "codecs", "site", "sitecustomize")]},
         exit_code=1, stderr_end="ZeroDivisionError: division by zero\n", stderr_lacks="shadow", names=[]),
    case("bad base64", "print(1)", "anthropics/anthropic-sdk-python #1439", {"files": [{"name": "a.bin", "content_base64": "not base64 !!"}]}, status=400, message_has=["a.bin", "base64"]),
    case("no content", "print(1)", "engineer-man/piston #536", {"files": [{"name": "a.bin"}]}, status=400, message_has="a.bin"),
    case("good base64", "print(open('a.bin', 'rb').read())", "engineer-man/piston #536", {"files": [bytes_file("a.bin", b"\x00\xff")]}, stdout="b'\\x00\\xff'\n"),
    *[case(f"base64 of the wrong form: {text!r}", "print(1)", None, {"files": [{"name": "a.bin", "content_base64": text}]}, status=400, message_has="a.bin")
      for text in ("QQ=", "QQ", "Q===", "QQ==QQ==", "Q Q==", "QQ==\n!", "_-==")],
    case("a spreadsheet comes back byte for byte", "import pandas as pd\npd.DataFrame({'city': ['上海', 'Zürich'], 'n': [1, 2]}).to_excel('r.xlsx', index=False)\nprint(pd.read_excel('r.xlsx').to_csv(index=False), end='')",
         "explorerhq/sql-explorer #278", stdout="city,n\n上海,1\nZürich,2\n", magic={"r.xlsx": b"PK\x03\x04"}),
    case("every byte comes back", "open('all.bin', 'wb').write(bytes(range(256)))", files={"all.bin": bytes(range(256))}),
    case("a database file in WAL mode is whole", "import sqlite3, os\nc = sqlite3.connect('t.db')\nmode = c.execute('pragma journal_mode=wal').fetchone()[0]\nc.execute('create table t(n)')\nc.executemany('insert into t values(?)', [(1,), (2,)])\nc.commit()\n"
         "print(mode, c.execute('select sum(n) from t').fetchone()[0])\nc.close()\nprint(sorted(os.listdir('.')))", "sagemathinc/cowasm #78, charmbracelet/crush #2903", stdout="wal 3\n['t.db']\n", magic={"t.db": b"SQLite format 3\0"}),
    case("names that look like mark-up", "open('<i>a&b.txt', 'w').write('1')\nprint('<img src=x onerror=document.title=1>')", "microsoft/vscode-python #13396", stdout="<img src=x onerror=document.title=1>\n", files={"<i>a&b.txt": "1"}),
    case("a folder that was removed", "import os, shutil\nos.makedirs('a/b'); open('a/b/c', 'w').write('1'); shutil.rmtree('a')", names=[], skipped={}),
    case("everything was removed", "import os\nos.unlink('a')", request={"files": [text_file("a", "1")]}, names=[], skipped={}),
]
