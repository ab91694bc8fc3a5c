"""Libraries, plots, random numbers, and code on its way to the interpreter."""
from e2e.cases import case

PNG = b"\x89PNG\r\n\x1a\n"

CASES = [
    case("matplotlib starts without warnings", "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2, 3])\nfig.savefig('line.png')\nprint('saved')", "langgenius/dify-sandbox #117, matplotlib/matplotlib #18011, #32246",
         stdout="saved\n", stderr="", magic={"line.png": PNG}, names=["line.png"]),
    case("every style and a 3D plot", "import matplotlib.pyplot as plt\nfig = plt.figure(); ax = fig.add_subplot(projection='3d'); ax.scatter([1, 2], [3, 4], [5, 6])\nplt.style.use('ggplot'); fig.savefig('a.png')", stderr="", magic={"a.png": PNG}),
    case("the same chart name saved twice", "import matplotlib.pyplot as plt\nfor data in ([1, 2], [2, 1]):\n    plt.plot(data); plt.savefig('c.png'); plt.close()\n    print(hash(open('c.png', 'rb').read()) != 0)", "vndee/llm-sandbox #152", stdout="True\nTrue\n", names=["c.png"]),
    case("showing before saving", "import matplotlib.pyplot as plt\nfrom PIL import Image\nplt.plot([1, 3, 2])\nplt.show()\nplt.savefig('a.png')\nprint(len(Image.open('a.png').convert('RGB').getcolors(100000)) > 5)", "e2b-dev/code-interpreter #61", stdout="True\n"),
    case("seven hundred glyphs without a warning about a font", "import matplotlib.pyplot as plt\nplt.title('größe Ελληνικά Русский ½ € → ∑ 😐'[:-2]); plt.savefig('t.png')", stderr="", names=["t.png"]),
    case("mathematical text", "import matplotlib.pyplot as plt\nplt.title(r'$\\frac{\\alpha}{\\sqrt{2}}$'); plt.savefig('m.svg')", stderr="", names=["m.svg"]),
    case("numpy imports quietly", "import numpy as np\nprint(int((np.eye(64) @ np.eye(64)).sum()))", "tjmlabs/AgentRun #7, bytedance/SandboxFusion #45", stdout="64\n", stderr=""),
    case("every promised library does something", """
        import numpy, pandas, scipy.optimize, sklearn.linear_model, sympy, openpyxl, PIL.Image, matplotlib
        x = sympy.Symbol("x")
        print(pandas.DataFrame({"a": [1, 2]}).a.sum(), round(scipy.optimize.brentq(lambda t: t * t - 2, 0, 2), 6), sympy.integrate(x, (x, 0, 2)), PIL.Image.new("RGB", (2, 3)).size)
        """, "langgenius/dify #9377, #22753", stdout="3 1.414214 2 (2, 3)\n", stderr=""),
    case("a cold import in a child works, too", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-W', 'error', '-c', 'import pandas, matplotlib.pyplot, scipy.stats, sklearn; print(1)'], capture_output=True, text=True))",
         request={"timeout_s": 30}, stdout_has="stdout='1\\n', stderr=''"),
    case("submodules that were not imported before", "import scipy.io, scipy.cluster.hierarchy, sklearn.neural_network, pandas.api.types, numpy.polynomial, sympy.physics.units, PIL.ImageFilter, matplotlib.animation\nprint('ok')", stdout="ok\n", stderr=""),
    case("the standard library is whole", "import argparse, array, ast, calendar, cmath, colorsys, configparser, copy, csv, curses.ascii, difflib, dis, email.message, fractions, graphlib, heapq, html.parser, http.cookies, imaplib, ipaddress, locale,"
         " mailbox, optparse, platform, plistlib, pprint, queue, sched, shelve, statistics, string, tomllib, trace, unittest.mock, wave, xml.etree.ElementTree, xmlrpc.client, zipapp\nprint('ok')",
         stdout="ok\n", stderr=""),
    case("platform and system information do not fail", "import os, platform, resource, sys, sysconfig\nprint(platform.system(), bool(platform.platform()), os.cpu_count() >= 1, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, bool(sysconfig.get_paths()))",
         stdout="Linux True True True True\n"),
    case("quotes and shell characters in the code", r"""
        s = '''it's "q" $HOME `id` \\n %s {x} $(date) !! \\'''
        print(s)
        print(len(s))
        """, "cheatcode-ai/cheatcode #175, superplanehq/superplane #3349", stdout="it's \"q\" $HOME `id` \\n %s {x} $(date) !! \\\n42\n"),
    case("format braces, percent signs and templates in the code", "print('{} %s $x {{y}} %(a)s {0!r} ${z} #{q} <%= e %>')", stdout="{} %s $x {{y}} %(a)s {0!r} ${z} #{q} <%= e %>\n"),
    case("300 kB of code", "x = '" + "a" * 300000 + "'\nprint(len(x))\n", "cheatcode-ai/cheatcode #175", stdout="300000\n"),
    case("ten thousand lines of code", "".join(f"x{n} = {n}\n" for n in range(10000)) + "print(x9999)", stdout="9999\n"),
    case("one long line", "print(sum([" + "1, " * 30000 + "]))", stdout="30000\n"),
    case("empty code", "", "cheatcode-ai/cheatcode #175", stdout="", stderr="", exit_code=0),
    case("only a comment", "# only a comment", "cheatcode-ai/cheatcode #175", stdout="", stderr="", exit_code=0),
    case("only white space", "  \n\t\n   ", stdout="", stderr="", exit_code=0),
    case("only a doc string", "'''text'''", stdout="", exit_code=0),
    case("tabs, form feeds and a backslash at the end of a line", "x = 1 + \\\n    2\n\x0c\nif x:\n\tprint(x)", stdout="3\n"),
    case("Windows line ends", "for i in range(2):\r\n    print(i)\r\nprint('''a\r\nb''' == 'a\\nb')\r\n", stdout="0\n1\nTrue\n"),
    case("old Mac line ends", "print(1)\rprint(2)\r", stdout="1\n2\n"),
    case("a NUL in the code", "print(1)\0", status=400, message_has="code"),
]
