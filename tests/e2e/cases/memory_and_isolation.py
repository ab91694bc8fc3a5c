"""Memory, environment, secrets, network, random numbers."""
from e2e.cases import case

OOM = {"outcome": "out_of_memory", "exit_code": 137}

CASES = [
    case("more memory than allowed, as one text", "b = b'x' * 900000000\nprint(len(b))", "bytedance/SandboxFusion #43, python-discord/snekbox #83", stdout="", **OOM),
    case("the next call after it", "print('ok')", "python-discord/snekbox #83", stdout="ok\n"),
    case("more memory than allowed, as a list", "x = []\nwhile True: x.append('y' * 100_000)", stdout="", **OOM),
    case("more memory than allowed, in numpy", "import numpy as np\nprint(np.ones((20000, 20000)).sum())", stdout="", **OOM),
    case("more memory than allowed, in pandas", "import pandas as pd\nd = pd.DataFrame({'a': range(1000)})\nwhile True: d = pd.concat([d, d])", stdout="", **OOM),
    case("more memory than can be, caught", "try:\n    bytearray(1 << 60)\nexcept (MemoryError, OverflowError) as e:\n    print(type(e).__name__)", stdout="MemoryError\n"),
    case("a big array that is never touched", "import numpy as np\na = np.zeros((30000, 30000))\na[0, 0] = 1\nprint(a.shape)", stdout="(30000, 30000)\n"),
    case("much memory given back and taken again", "for _ in range(7):\n    b = bytearray(b'x' * 100_000_000)\nprint('ok')", stdout="ok\n"),
    case("an exception that the memory killer would hide", "x = [0] * 10_000_000\nraise ValueError('small')", exit_code=1, stderr_has="ValueError: small"),
    case("user name and home of the only user", """
        import getpass, os, pathlib
        u = getpass.getuser()
        p = pathlib.Path.home() / "note.txt"
        p.write_text("hi")
        print(bool(u), p.read_text(), os.path.expanduser("~") != "~", os.getuid())
        """, "cms-dev/isolate #25, umich-brcf-bioinf/Connor #7", stdout="True hi True 65532\n"),
    case("files belong to the user by name", "import pathlib\np = pathlib.Path('f'); p.touch()\nprint(p.owner(), p.group())", stdout="nonroot nonroot\n", names=["f"]),
    case("no secrets in the environment", """
        import os
        bad = [k for k in os.environ if any(w in k.upper() for w in ("TOKEN", "SECRET", "PASSWORD", "API_KEY", "DATABASE", "SANDBOX"))]
        try:
            d = open("/proc/1/environ", "rb").read()
        except OSError:
            d = b""
        print(bad, b"TOKEN" in d or b"SECRET" in d or b"SANDBOX" in d)
        """, "RitechSolutions/genassist #731", stdout="[] False\n"),
    case("the environment is small and fixed", "import os\nprint(sorted(k for k in os.environ if not k.endswith('_NUM_THREADS')))",
         stdout="['HOME', 'LANG', 'LOGNAME', 'MPLBACKEND', 'MPLCONFIGDIR', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONUNBUFFERED', 'TZ', 'USER']\n"),
    case("changes of the environment reach children and nobody else", "import os, subprocess\nos.environ['X'] = 'y'\nprint(subprocess.run('echo $X', shell=True, capture_output=True, text=True).stdout, end='')", stdout="y\n"),
    case("no network: fail at once", """
        import urllib.request, urllib.error
        try:
            urllib.request.urlopen("http://example.com/", timeout=5)
            print("reached")
        except urllib.error.URLError:
            print("blocked")
        """, "tiiuae/sbomnix #197, Cyrax321/SNAGLINE #395", stdout="blocked\n", seconds=2),
    case("no network: by address", "import urllib.request\ntry:\n    urllib.request.urlopen('http://192.0.2.1/', timeout=5)\nexcept OSError as e:\n    print('blocked')", stdout="blocked\n", seconds=2),
    case("no network: pandas from an address", "import pandas as pd\ntry:\n    pd.read_csv('https://example.com/a.csv')\nexcept OSError as e:\n    print('blocked')", stdout="blocked\n", seconds=3),
    case("no network: http.client, asyncio and smtplib", "import http.client, asyncio, smtplib\nfor f in (lambda: http.client.HTTPConnection('example.com', timeout=5).connect(), lambda: asyncio.run(asyncio.open_connection('example.com', 80)),"
         " lambda: smtplib.SMTP('example.com', timeout=5)):\n    try:\n        f()\n    except OSError:\n        print('blocked')", stdout="blocked\n" * 3, seconds=3),
    case("no network: a dataset that would be fetched", "from sklearn.datasets import fetch_openml\ntry:\n    fetch_openml('mnist_784', n_retries=1, delay=0.01)\nexcept OSError:\n    print('blocked')", stdout_has="blocked", seconds=5),
    case("no hidden default session", "import os\nprint('x' in globals(), os.path.exists('f.txt'))\nx = 1\nopen('f.txt', 'w').write('1')", "danny-avila/LibreChat #14259", runs=5, stdout="False False\n"),
    case("time zone data", """
        from zoneinfo import ZoneInfo, available_timezones
        from datetime import datetime, timezone
        t = datetime(2024, 7, 1, 12, tzinfo=timezone.utc)
        print(t.astimezone(ZoneInfo("Asia/Shanghai")).isoformat())
        print(t.astimezone(ZoneInfo("America/New_York")).strftime("%H:%M %Z"), len(available_timezones()) > 400)
        """, "langgenius/dify-sandbox #50, cloudflare/workerd #1972, posit-dev/shinylive #28", stdout="2024-07-01T20:00:00+08:00\n08:00 EDT True\n"),
    case("time zones in pandas", "import pandas as pd\nprint(pd.Timestamp('2024-07-01 12:00', tz='UTC').tz_convert('Europe/Berlin'))", stdout="2024-07-01 14:00:00+02:00\n"),
    case("the clock is right and in UTC", "import datetime, time\nprint(datetime.datetime.now().astimezone().utcoffset(), abs(time.time() - time.clock_gettime(time.CLOCK_REALTIME)) < 1)", stdout="0:00:00 True\n"),
    case("time zone by environment", "import os, time\nos.environ['TZ'] = 'Asia/Tokyo'; time.tzset(); print(time.tzname)", stdout="('JST', 'JST')\n"),
    case("locale settings do not fail", "import locale\nlocale.setlocale(locale.LC_ALL, ''); print(f'{1234567:n}', locale.format_string('%.1f', 1.5))", stdout="1234567 1.5\n"),
]
