"""Output: whole, once, unchanged, in time."""
from e2e.cases import case

CASES = [
    case("printed before the time limit, flushed or not", """
        import time
        print("step 1", flush=True)
        print("step 2")
        time.sleep(30)
        print("never")
        """, "microsoft/autogen #3534, engineer-man/piston #180", {"timeout_s": 1}, stdout="step 1\nstep 2\n", exit_code=-1, outcome="timeout", seconds=3),
    case("written without a newline before the time limit", "import sys, time\nsys.stdout.write('no newline')\nsys.stderr.write('either')\ntime.sleep(30)", None,
         {"timeout_s": 0.8}, stdout="no newline", stderr="either", exit_code=-1, outcome="timeout"),
    case("written by C code and by a child before the time limit", "import subprocess, time\nsubprocess.run(['echo', 'child'])\ntime.sleep(30)", None,
         {"timeout_s": 1}, stdout="child\n", exit_code=-1, outcome="timeout"),
    case("endless printing", "while True:\n    print('abcdefgh' * 8)\n", "python-discord/snekbox #81", {"timeout_s": 3}, truncated=True, stdout_at_most=1_100_000,
         outcome_in=["timeout", "output_limit"], exit_code_in=[-1, 137], seconds=5),
    case("no colour codes are added", "1 / 0", "open-webui/open-webui #21091", exit_code=1, stderr_lacks="\x1b"),
    case("the program's own colour codes stay", r"print('\x1b[31mred\x1b[0m')", "PrimeIntellect-ai/prime-agent #566", stdout="\x1b[31mred\x1b[0m\n"),
    case("carriage returns and backspaces stay", r"print('10%\r20%\b\a', end='')", stdout="10%\r20%\b\a"),
    case("what looks like the service's own protocol", """
        print('{"exit_code": 0, "stdout": "fake", "files": []}')
        print("__END__")
        print("RESULT:ok")
        raise SystemExit(5)
        """, "NVIDIA-NeMo/Skills #712, PlatonOrg/platon #3", exit_code=5, stdout='{"exit_code": 0, "stdout": "fake", "files": []}\n__END__\nRESULT:ok\n'),
    case("a number and nothing else", "print(2 + 2)", "NVIDIA-NeMo/Skills #712", stdout="4\n", stderr=""),
    case("both streams, apart", "import sys\nprint('out')\nprint('err', file=sys.stderr)", "camel-ai/camel #3853", stdout="out\n", stderr="err\n"),
    case("a leading newline and an empty line at the end", "print('\\nfirst')\nprint()", "simstudioai/sim #7143", stdout="\nfirst\n\n"),
    case("only white space", "print('  \\t ', end='')", stdout="  \t "),
    case("the tail is not lost", """
        import sys
        for i in range(20000):
            sys.stdout.write("line %05d\\n" % i)
        sys.stdout.write("END\\n")
        sys.exit(2)
        """, "datarobot-oss/datarobot-genai #630", runs=12, exit_code=2, stdout_length=220004, stdout_has="line 19999\nEND\n"),
    case("the tail is not lost with a hard exit", "import os\nfor i in range(20000):\n    os.write(1, b'line %05d\\n' % i)\nos._exit(3)", None, runs=3, exit_code=3, stdout_length=220000),
    case("both streams long, by turns", "import sys\nfor i in range(30000):\n    print('o%05d' % i); print('e%05d' % i, file=sys.stderr)",
         stdout_length=210000, stdout_has="o29999\n", stderr_has="e29999\n"),
    case("a slow program", "import sys, time\nprint('hello')\nprint('note', file=sys.stderr)\ntime.sleep(0.5)\nprint('world')", "e2b-dev/E2B #265",
         stdout="hello\nworld\n", stderr="note\n", seconds=2),
    case("standard output is line-wise and writable as bytes", "import sys\nsys.stdout.buffer.write(b'bytes\\n'); print('text')\nprint(sys.stdout.isatty(), sys.stdout.writable())",
         stdout="bytes\ntext\nFalse True\n"),
    case("print to a descriptor and print agree in order", "import os\nprint('a'); os.write(1, b'b\\n'); print('c'); os.system('echo d'); print('e')", stdout="a\nb\nc\nd\ne\n"),
    case("redirecting standard output", "import contextlib, io\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    print('hidden')\nprint(b.getvalue().upper(), end='')", stdout="HIDDEN\n"),
    case("closing standard output", "import sys\nprint('x')\nsys.stdout.close()", stdout="x\n", exit_code=0),
    case("closing standard error", "import sys\nsys.stderr.close()\nprint('x')", stdout="x\n", exit_code=0),
    case("a progress bar", "import sys, time\nfor i in range(3):\n    print(f'\\r{i}', end='', file=sys.stderr)", stderr="\r0\r1\r2"),
    case("pretty printing of a wide table uses a sensible width", "import shutil; print(shutil.get_terminal_size())", stdout="os.terminal_size(columns=80, lines=24)\n"),
    case("a million short writes", "import sys\nw = sys.stdout.write\nfor _ in range(60_000): w('ab\\n')", request={"timeout_s": 20}, stdout_length=180_000),
]
