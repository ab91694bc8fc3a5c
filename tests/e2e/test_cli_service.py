"""platformctl with the real service: what a person does in the first ten minutes."""
import json
import signal
import textwrap
import time

import pytest

from support.cli import Cli
from support.host import wait_until


@pytest.fixture
def cli(service):
    return Cli(service.url, service.key)


def test_output_results_and_exit_code(cli):
    result = cli("run", "-c", "print(6 * 7)\n6 * 8")
    assert (result.code, result.stdout, result.stderr) == (0, b"42\n48\n", "")
    result = cli("run", given=b"import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)\n")
    assert (result.code, result.stdout) == (3, b"out\n")
    assert result.stderr == "err\nplatformctl: the snippet ended with exit code 3\n"


def test_an_exception_shows_its_line(cli, tmp_path):
    (tmp_path / "wrong.py").write_text("x = 1\n\nprint(x / 0)\n")
    result = cli("run", "wrong.py", cwd=tmp_path)
    assert result.code == 1
    assert "line 3" in result.stderr and "ZeroDivisionError" in result.stderr


def test_output_comes_while_the_snippet_runs(cli):
    process = cli.start("run", "-c", "import time\nprint('early')\ntime.sleep(3)\nprint('late')")
    assert process.stdout.readline() == b"early\n"
    early = time.monotonic()
    assert process.stdout.readline() == b"late\n"
    assert time.monotonic() - early > 1.5
    assert process.wait(20) == 0


@pytest.mark.parametrize("code, seconds, exit_code, words", [
    ("while True: pass", "2", 124, "time is up"),
    ("x = []\nwhile True: x.append(bytearray(10**7))", "40", 137, "out of memory"),
    ("import os\nos.kill(os.getpid(), 11)", "40", 139, "signal 11"),
], ids=["time", "memory", "signal"])
def test_limits(cli, code, seconds, exit_code, words):
    result = cli("run", "--timeout", seconds, "-c", f"print('before')\n{code}", timeout=60)
    assert (result.code, result.stdout) == (exit_code, b"before\n")
    assert words in result.stderr


def test_files_go_in_and_come_back(cli, tmp_path):
    (tmp_path / "numbers.csv").write_text("a,b\n1,2\n3,4\n")
    code = """
        import sys, pandas, matplotlib.pyplot as plt
        frame = pandas.read_csv("in/numbers.csv")
        frame.sum().to_csv("sums.csv")
        print(sys.stdin.read())
        plt.plot(frame.a)
        plt.show()
        """
    result = cli("run", "-", "--file", "in/numbers.csv=numbers.csv", "--stdin", "numbers.csv", "--out", "out",
                 cwd=tmp_path, given=textwrap.dedent(code).encode())
    assert (result.code, result.stdout) == (0, b"a,b\n1,2\n3,4\n\n"), result
    assert (tmp_path / "out/sums.csv").read_text() == ",0\na,4\nb,6\n"
    assert (tmp_path / "out/figure-1.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "out/in").exists()  # an input that was not changed does not come back


def test_json(cli):
    result = cli("run", "--json", "-c", "print('x'); raise SystemExit(7)")
    reply = json.loads(result.stdout)
    assert (result.code, reply["exit_code"], reply["outcome"], reply["stdout"]) == (7, 7, "error", "x\n")


def running(service):
    return service.get("/v1/status").json["runs"]["running"]


def test_ctrl_c_ends_the_snippet(cli, service):
    process = cli.start("run", "-c", "import time\nprint('begun')\ntime.sleep(20)")
    assert process.stdout.readline() == b"begun\n"
    assert running(service) == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 130
    assert wait_until(lambda: running(service) == 0, 3), "the snippet goes on although nobody waits for it"


def test_a_reader_that_goes_away_ends_the_snippet(cli, service):
    process = cli.start("run", "-c", "while True: print('line')")
    assert process.stdout.readline() == b"line\n"
    process.stdout.close()
    assert process.wait(10) == 141
    assert wait_until(lambda: running(service) == 0, 3), "the snippet goes on although nobody waits for it"


def test_refusals(cli, service):
    result = cli("run", "--timeout", "1000", "-c", "1")
    assert result.code == 65 and "timeout_s" in result.stderr
    result = Cli(service.url, "sbx_" + "0" * 64)("run", "-c", "1")
    assert result.code == 77 and "--key or SANDBOX_KEY" in result.stderr
    assert Cli(service.url)("status").code == 77


def test_status_and_environment(cli, service):
    status = cli("status").stdout.decode()
    assert f"  target             {service.warm_pool}\n" in status
    assert json.loads(cli("status", "--json").stdout)["ready"] is True
    environment = cli("environment").stdout.decode()
    assert "  python " in environment and "  pandas " in environment and "  timeout max " in environment


def test_the_service_dies_during_a_run(make_service):
    doomed = make_service({"SANDBOX_WARM_POOL": 1})
    process = Cli(doomed.url, doomed.key).start("run", "-c", "import time\nprint('begun')\ntime.sleep(20)")
    assert process.stdout.readline() == b"begun\n"
    doomed.process.kill()
    assert process.wait(10) == 69
    assert b"ended" in process.stderr.read()
    doomed.process.wait()


def test_the_key_of_the_data_folder(make_service, tmp_path):
    """Without any key given, the service makes one, and platformctl finds it."""
    made = make_service({"SANDBOX_ADMIN_KEY": "", "SANDBOX_WARM_POOL": 1}, start=False)
    made.spawn()
    made.wait_ready()
    settings = {"SANDBOX_DATA_DIR": str(made.data_dir), "SANDBOX_LISTEN": made.settings["SANDBOX_LISTEN"]}
    assert Cli()("run", "-c", "print(1)", **settings).stdout == b"1\n"
    assert Cli()("status", **settings).code == 0
    assert made.stop() == 0
