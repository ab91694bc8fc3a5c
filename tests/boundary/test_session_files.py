"""Files between the calls of a session: what has changed is handed over, once, whatever the living processes do."""

import errno
import time

import pytest

from boundary import harness as boundary
from boundary.session import Session


def test_only_what_has_changed(session):
    session.call("import os\nopen('a', 'w').write('1')\nos.makedirs('d/e')\nopen('d/e/b', 'w').write('2')")
    assert session.collect() == {"a": b"1", "d/e/b": b"2"}
    for _ in range(3):
        session.call("open('a').read()")
        assert session.collect() == {}
    session.call("open('d/e/b', 'a').write('3')")
    assert session.collect() == {"d/e/b": b"23"}
    session.call("open('a', 'w').write('1')")
    assert session.collect() == {"a": b"1"}, "written again, though with the same content"


def test_changes_right_after_a_collection_are_not_missed(session):
    """Many within one tick of the clock, of the same length, each between two collections."""
    for number in range(60):
        session.call(f"open('a', 'w').write('{number:04}')")
        assert session.collect() == {"a": f"{number:04}".encode()}, number
        assert session.collect() == {}, number


def test_a_time_that_was_set_back_hides_nothing(session):
    session.call("import os\nopen('a', 'w').write('1')\nos.utime('a', (0, 0))")
    session.collect()
    time.sleep(0.05)
    session.call("open('a', 'w').write('2')\nos.utime('a', (0, 0))")
    assert session.collect() == {"a": b"2"}


def test_names_that_change(session):
    session.call("import os\nos.makedirs('d')\nopen('d/a', 'w').write('1')")
    session.collect()
    time.sleep(0.05)
    session.call("os.rename('d', 'e')")
    assert session.collect() == {"e/a": b"1"}, "a file in a folder that was renamed has a new name, but no new ctime"
    session.call("os.link('e/a', 'b')")
    assert session.collect() == {"b": b"1"} or session.skipped
    session.call("os.remove('b')\nos.remove('e/a')")
    assert session.collect() == {}
    session.call("open('e/a', 'w').write('1')")
    assert session.collect() == {"e/a": b"1"}


def test_what_is_written_through_a_mapping_is_not_missed(session):
    """The kernel notes no time for it on tmpfs."""
    session.call("import mmap\nopen('a', 'wb').write(bytes(8192))\nf = open('a', 'r+b')\nm = mmap.mmap(f.fileno(), 0)\n"
                 "f.close()\nm[0]\nm[4096]")
    assert set(session.collect()) == {"a"}
    for number in range(1, 4):
        time.sleep(0.02)
        session.call(f"m[4096] = {number}")
        assert session.collect()["a"][4096] == number
        assert session.collect() == {}
    session.call("m.close()")
    session.collect()
    time.sleep(0.02)
    session.call("f = open('a', 'r+b')\nm = mmap.mmap(f.fileno(), 0)\nx = m[0]\nm[0] = 7\nm.close()\nf.close()")
    assert session.collect()["a"][0] == 7


def test_modes_that_forbid_everything_stay_as_they_are(session):
    session.call("import os\nos.makedirs('d')\nopen('d/a', 'w').write('1')\nos.chmod('d/a', 0)\nos.chmod('d', 0)\n"
                 "os.chmod('.', 0)")
    assert session.collect() == {"d/a": b"1"}
    shown = (
        "print([oct(os.stat(p).st_mode & 0o777) for p in ('/mnt/data',)])\n"
        "os.chmod('/mnt/data', 0o755)\n"
        "print(oct(os.stat('d').st_mode & 0o777))\n"
        "os.chmod('d', 0o755)\n"
        "print(oct(os.stat('d/a').st_mode & 0o777))"
    )
    assert session.call(shown)[1] == "['0o0']\n0o0\n0o0\n"


def test_what_is_skipped_is_told_once(session):
    session.call("import os\nos.symlink('/etc/passwd', 'link')\nos.mkfifo('pipe')\n"
                 "open('large', 'wb').write(bytes(5 << 20))")
    time.sleep(0.05)
    assert session.collect() == {} and session.skipped == {"link": 4, "pipe": 4, "large": 1}
    session.call("pass")
    assert session.collect() == {} and session.skipped == {}
    session.call("open('large', 'ab').write(b'1')")
    time.sleep(0.05)
    assert session.collect() == {} and session.skipped == {"large": 1}


def test_more_files_than_are_handed_over(session):
    session.call("for n in range(300): open(f'{n:03}', 'w').write('x')")
    time.sleep(0.05)
    assert len(session.collect()) == 256 and len(session.skipped) == 44
    session.call("pass")
    assert session.collect() == {}


def test_thousands_of_files(session):
    session.call("import os\nfor d in range(10):\n    os.makedirs(f'd{d}')\n"
                 "    for n in range(900): open(f'd{d}/{n}', 'w')", 30_000)
    session.collect()
    time.sleep(0.05)
    began = time.monotonic()
    session.call("open('d5/5', 'w').write('new')")
    assert "d5/5" in session.collect() and time.monotonic() - began < 3


HOSTILE = """
import os, threading, random
os.makedirs('d', exist_ok=True)
stop = False
def churn(seed):
    chance = random.Random(seed)
    while not stop:
        name = 'd/' + chance.choice('abcdefgh')
        try:
            what = chance.randrange(8)
            if what == 0: os.truncate(name, 0)
            elif what == 1: open(name, 'wb').write(bytes(chance.randrange(1 << 20)))
            elif what == 2: os.remove(name)
            elif what == 3: os.symlink('/proc/1/mem', name)
            elif what == 4: os.mkfifo(name)
            elif what == 5: os.mkdir(name)
            elif what == 6: os.rename('d', 'e'); os.rename('e', 'd')
            elif what == 7: os.rename(name, name + 'x'); os.rmdir(name + 'x')
        except OSError: pass
for seed in range(4): threading.Thread(target=churn, args=(seed,), daemon=True).start()
"""


def test_everything_changes_while_it_is_read(session):
    """Frames stay whole, the collection ends, and what is quiet in the end is handed over as it is."""
    session.call(HOSTILE)
    end = time.monotonic() + 6
    rounds = 0
    while time.monotonic() < end:
        began = time.monotonic()
        session.collect()
        assert time.monotonic() - began < 5
        rounds += 1
    assert rounds > 2
    session.call("stop = True\nimport time\ntime.sleep(0.3)\nimport shutil\nshutil.rmtree('d', True)\n"
                 "shutil.rmtree('e', True)\nopen('quiet', 'w').write('q')")
    assert session.collect() == {"quiet": b"q"}
    assert session.collect() == {}


def test_a_file_that_is_cut_short_while_it_is_read(session):
    session.call("import os, threading\nfd = os.open('a', os.O_RDWR | os.O_CREAT)\nstop = False\ndef cut():\n"
                 "    while not stop:\n"
                 "        os.ftruncate(fd, 0)\n        os.pwrite(fd, b'x' * 100, (4 << 20) - 100)\n"
                 "threading.Thread(target=cut, daemon=True).start()")
    for _ in range(30):
        for content in session.collect().values():
            assert len(content) in (0, 4 << 20)
    session.call("stop = True\nimport time\ntime.sleep(0.1)\nos.ftruncate(fd, 3)\nos.pwrite(fd, b'end', 0)")
    assert session.collect() == {"a": b"end"}


# --- inputs ---


def test_inputs_before_and_between_calls(session):
    session.send_input("a.txt", b"one")
    session.send_input("d/b.txt", b"two")
    assert session.end_inputs() == {}
    assert session.call("print(open('a.txt').read(), open('d/b.txt').read())")[1] == "one two\n"
    assert session.collect() == {}
    session.send_input("a.txt", b"ONE")
    assert session.end_inputs() == {}
    assert session.call("print(open('a.txt').read())")[1] == "ONE\n"
    assert session.collect() == {}
    session.call("open('a.txt', 'w').write('ONE')")
    assert session.collect() == {}, "an input that says what it said"
    session.call("open('a.txt', 'w').write('own')")
    assert session.collect() == {"a.txt": b"own"}
    session.call("open('a.txt', 'w').write('own')")
    assert session.collect() == {"a.txt": b"own"}, "no input any more"


def test_restored_files_are_old(session):
    for number in range(300):
        session.send_input(f"{number:03}.txt", str(number).encode())
        if number % 100 == 99:
            assert session.end_inputs(1) == {}
    assert session.call("import os\nprint(len(os.listdir()))")[1] == "300\n"
    assert session.collect() == {}
    session.call("open('007.txt', 'w').write('bond')")
    assert session.collect() == {"007.txt": b"bond"}


def test_inputs_that_cannot_be_written(session):
    session.call("import os\nos.makedirs('folder/x')\nos.symlink('/tmp', 'away')\nopen('file', 'w')\n"
                 "os.symlink('/etc/passwd', 'link')")
    for name in ("folder", "away/x", "file/x", "link", "good", "../up", "a//b", "."):
        session.send_input(name, b"in")
    failed = session.end_inputs()
    assert failed.pop("away/x") in (errno.ELOOP, errno.ENOTDIR)
    assert failed == {
        "folder": errno.EISDIR, "file/x": errno.ENOTDIR, "../up": errno.EINVAL, "a//b": errno.EINVAL, ".": errno.EINVAL}
    assert session.call(
        "print(open('good').read(), open('link').read(), os.path.islink('link'), os.listdir('/tmp'))"
    )[1] == "in in False []\n"


def test_too_many_inputs_of_one_set(session):
    for number in range(258):
        session.send_input(f"{number}", b"")
    assert session.end_inputs() == {"256": errno.E2BIG, "257": errno.E2BIG}
    session.send_input("256", b"")
    assert session.end_inputs() == {}


@pytest.mark.parametrize("flags", [2, 0xFFFFFFFF])
def test_unknown_flags_end_the_channel(spawner, flags):
    session = Session(spawner, spawner.park())
    with pytest.raises((EOFError, TimeoutError)):
        session.sandbox.work.settimeout(1)
        session.end_inputs(flags)
    session.message(boundary.KILL, reason=boundary.END_RETIRED)
    session.await_death()
    session.close()


# --- an api process that does not read ---


def test_a_collection_that_nobody_reads_ends(session):
    session.call("for n in range(10): open(f'{n}', 'wb').write(bytes(1 << 20))")
    session.sandbox.work.sendall(b"\x26\0\0\0\0\0\0\0")  # FRAME_COLLECT
    time.sleep(0.2)
    began = time.monotonic()
    session.claim(500)
    session.send_cell("while True: pass")
    message = session.await_death(15)
    assert message["reason"] == boundary.END_TIMEOUT and message["room_kept"] == 1 and time.monotonic() - began < 10
