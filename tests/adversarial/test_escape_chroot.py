"""The classic way out of a chroot: keep a folder open, chroot below it, walk up. Here already the first step fails."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

CODE = syscalls.PRELUDE + f"""
os.makedirs("/tmp/jail", exist_ok=True)
before = os.stat("/").st_ino
outcome = [call({NUMBERS["chroot"]}, b"/tmp/jail"), call({NUMBERS["pivot_root"]}, b"/tmp/jail", b"/tmp/jail")]
for _ in range(64):
    os.chdir("..")
print(json.dumps([outcome, os.stat("/").st_ino == before and os.stat(".").st_ino == before]))
"""


def test_chroot_and_pivot_root_are_refused(service):
    features.need_x86_64()
    assert service.execute(CODE).printed == [["EPERM", "EPERM"], True]


def test_control_root_may():
    features.need_x86_64()
    outcome, _ = json.loads(unconfined.run(CODE))
    assert outcome[0] == "ok"


def test_walking_up_ends_at_the_room_s_own_root(service):
    reply = service.run("""
        import os
        print(sorted(os.listdir("/" + "../" * 200)) == sorted(os.listdir("/")), os.path.exists("/../../../work"))
        fd = os.open("/", os.O_RDONLY)
        print(os.stat("..", dir_fd=fd).st_ino == os.stat("/").st_ino)
        """)
    assert reply.stdout == "True False\nTrue\n"
