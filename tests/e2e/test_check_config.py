"""sandboxd --check-config: whether the settings are good, without starting anything."""
import os
import shutil
import subprocess

import pytest

from support.service import PROGRAM


def check(folder, text="", **variables):
    file = folder / "sandboxd.conf"
    file.write_text(text)
    environment = {"PATH": os.environ["PATH"], "SANDBOX_CONFIG_FILE": str(file),
                   "SANDBOX_DATA_DIR": str(folder / "data"), **variables}
    done = subprocess.run([PROGRAM, "--check-config"], env=environment, capture_output=True, text=True, timeout=20)
    assert not (folder / "data").exists(), "it starts nothing and makes nothing"
    return done


def test_good_settings(tmp_path):
    done = check(tmp_path, "# a comment\nwarm_pool = 2\nlisten = 127.0.0.1:1\n", SANDBOX_LOG_LEVEL="debug")
    assert (done.returncode, done.stdout, done.stderr) == (0, "sandboxd: the configuration is good\n", "")


def test_a_secret_from_a_file_or_a_credential(tmp_path):
    (tmp_path / "key").write_text("a-key-that-nobody-may-see\n")
    shutil.copy(tmp_path / "key", tmp_path / "admin_key")
    for done in (check(tmp_path, f"admin_key_file = {tmp_path}/key\n"),
                 check(tmp_path, SANDBOX_ADMIN_KEY_FILE=str(tmp_path / "key")),
                 check(tmp_path, CREDENTIALS_DIRECTORY=str(tmp_path))):
        assert done.returncode == 0 and "nobody-may-see" not in done.stdout + done.stderr, done
    (tmp_path / "admin_key").write_text("short")
    done = check(tmp_path, CREDENTIALS_DIRECTORY=str(tmp_path))
    assert done.returncode == 78 and "8 to 256" in done.stderr and "short" not in done.stderr, done
    done = check(tmp_path, "admin_key_file = /nowhere\n")
    assert done.returncode == 78 and "/nowhere" in done.stderr and "No such file" in done.stderr


@pytest.mark.parametrize("text, variables, words", [
    ("warm_pool = 300\n", {}, ["warm_pool", "line 1", '"300"', "0 to 64"]),
    ("\nwarm_pol = 3\n", {}, ["line 2", "warm_pol is not a setting", "did you mean warm_pool?"]),
    ("", {"SANDBOX_LISTEN": "nonsense"}, ["SANDBOX_LISTEN", "nonsense"]),
    ("", {"SANDBOX_WARM_POL": "3"}, ["SANDBOX_WARM_POL", "did you mean SANDBOX_WARM_POOL?"]),
    ("output_max_bytes = 65536\n", {}, ["SANDBOX_OUTPUT_KEEP_BYTES", "65536"]),
])
def test_bad_settings(tmp_path, text, variables, words):
    done = check(tmp_path, text, **variables)
    assert done.returncode == 78 and done.stdout == "" and done.stderr.count("\n") == 1, done
    assert done.stderr.startswith("sandboxd: ") and all(word in done.stderr for word in words), done.stderr


def test_the_sample_is_good_and_changes_nothing(tmp_path):
    sample = subprocess.run([PROGRAM, "--sample-config"], capture_output=True, text=True, timeout=20).stdout
    assert sample.count("\n") > 100 and check(tmp_path, sample).returncode == 0
    assert all(not line or line.startswith("#") for line in sample.splitlines())
