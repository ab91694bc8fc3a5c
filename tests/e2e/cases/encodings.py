"""Characters of every kind, in output, code, input and names."""
from e2e.cases import case
from support.client import bytes_file, text_file

CASES = [
    case("raw bytes on standard output", r"import sys; sys.stdout.buffer.write(b'\xff\xfe abc\n')", "online-judge-tools/oj #602, boutiques/boutiques #456", stdout="\ufffd\ufffd abc\n"),
    case("Latin-1 and UTF-16 output", r"import sys; sys.stdout.buffer.write('é'.encode('latin-1') + b'|' + 'ab'.encode('utf-16-le'))", stdout="\ufffd|a\0b\0"),
    case("Shift-JIS output", "import sys; sys.stdout.buffer.write('日'.encode('shift-jis') + b'.')", stdout_has="."),
    case("an overlong form and a surrogate in bytes", r"import sys; sys.stdout.buffer.write(b'\xc0\xaf|\xed\xa0\x80|ok')", stdout_has="|ok", stdout_lacks=["/", "\ud800"]),
    case("a character cut off at the end", "import sys; sys.stdout.buffer.write('é'.encode()[:1])", stdout="\ufffd"),
    case("raw bytes on standard error", r"import sys; sys.stderr.buffer.write(b'\x80 e\n')", stderr="\ufffd e\n"),
    case("a zero byte", r"print('a\0b'); print('end')", "Akuli/porcupine #1229, blackav/ejudge #367", stdout="a\0b\nend\n"),
    case("all control characters", "print(''.join(map(chr, range(32))) + chr(127), end='')", stdout="".join(map(chr, range(32))) + chr(127)),
    case("two-byte characters across the borders of reads", r"import sys; sys.stdout.write('x' + '\u00e9' * 100000)", "release-engineering/kobo #119", stdout_length=100001, stdout_lacks="\ufffd"),
    case("four-byte characters across the borders of reads", "import sys; sys.stdout.write('xyz' + '😀' * 60000)", stdout_length=60003, stdout_lacks="\ufffd"),
    case("a character in single bytes with pauses", "import os, time\nfor b in '€😀'.encode():\n    os.write(1, bytes([b])); time.sleep(0.02)", stdout="€😀"),
    case("text and JSON are encoded once", "import json\nprint(json.dumps({'名': 'a\"b'}, ensure_ascii=False))\nprint(json.dumps({'a': '你'}))",
         "langgenius/dify #29446, #6605", stdout='{"名": "a\\"b"}\n{"a": "\\u4f60"}\n'),
    case("backslashes and quotes", r"""print('\\n "q" \' </script> & \u2028')""", stdout='\\n "q" \' </script> & \u2028\n'),
    case("a lone surrogate cannot be printed, and says so", r"print('\ud800')", exit_code=1, stderr_has="UnicodeEncodeError"),
    case("UTF-8 is the default everywhere", """
        import sys, locale
        s = "th\\u1ea7u ao"
        open("t.txt", "w").write(s)
        print(open("t.txt", "rb").read() == s.encode("utf-8"), open("t.txt").read(), sys.stdout.encoding.lower(), locale.getpreferredencoding().upper().replace("-", ""))
        """, "judge0/judge0 #69", stdout="True thầu ao utf-8 UTF8\n", names=["t.txt"]),
    case("in child processes, too", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(\"ü\", open(\"/mnt/data/t\").read())'], capture_output=True, text=True).stdout, end='')",
         request={"files": [text_file("t", "ß")]}, stdout="ü ß\n"),
    case("in the shell", "import subprocess; print(subprocess.run('echo ü | tr -d x; printf %s \"$LANG\"', shell=True, capture_output=True, text=True).stdout)", stdout="ü\nC.UTF-8\n"),
    case("identifiers and strings in other scripts", "größe = 1; 数 = 2; привет = 'мир'\nprint(größe + 数, привет, '🦊', '\\N{GREEK SMALL LETTER OMEGA}')", stdout="3 мир 🦊 ω\n"),
    case("right-to-left, combining and zero-width characters", "print('שלום', 'e\\u0301', 'a\\u200bb', '👨‍👩‍👧')", stdout="שלום e\u0301 a\u200bb 👨‍👩‍👧\n"),
    case("standard input in UTF-8", "import sys; print(sys.stdin.readline().strip()[::-1])", request={"stdin": "añ😀\n"}, stdout="😀ña\n"),
    case("an input file in Latin-1 stays as it is", "print(open('l', encoding='latin-1').read(), open('l', 'rb').read())", request={"files": [bytes_file("l", b"\xe9")]}, stdout="é b'\\xe9'\n"),
    case("an input file with a byte order mark stays as it is", "print(repr(open('b').read()), repr(open('b', encoding='utf-8-sig').read()))",
         request={"files": [bytes_file("b", b"\xef\xbb\xbfx")]}, stdout="'\\ufeffx' 'x'\n"),
    case("line ends stay as they are", "print(open('c', 'rb').read())", request={"files": [text_file("c", "a\r\nb\rc\n")]}, stdout="b'a\\r\\nb\\rc\\n'\n"),
    case("a cookie of another encoding in text that is UTF-8 already", "# -*- coding: utf-8 -*-\nprint('é')", stdout="é\n"),
    case("sorting and case of text", "print(sorted('éeEÉ'), 'ß'.upper(), 'İ'.lower().encode())", stdout="['E', 'e', 'É', 'é'] SS b'i\\xcc\\x87'\n"),
]
