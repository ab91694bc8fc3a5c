"""What the room of a tool call keeps in, seen from inside and from the host; and that nothing is left of it.

The spawner of these tests runs in a network namespace without a route out: whatever a call tries reaches nobody.
"""

import ipaddress
import json
import os
import socket
import struct
import tempfile
import textwrap

import pytest

from boundary import agent_image, calls
from boundary import harness as boundary
from boundary.calls import call, request_of, run
from boundary.session import frame_of, read_all
from support import features, host, syscalls, unconfined
from support.syscalls import CLONE_FLAGS, NUMBERS


def result_of(spawner, code, **more):
    answer = run(spawner, request_of("tools:run", {"code": textwrap.dedent(code)}, **more))
    return answer.result


def printed_by(spawner, code):
    """What a snippet of the other tests prints, as a call."""
    answer = call(spawner, "tools:run", code=code + "\nresult = None\n")
    assert answer.end == {"result": None}, answer
    return json.loads(answer.stdout)


# ---- what is in it


def test_the_environment_is_what_was_given_and_four_more(call_spawner):
    seen = result_of(call_spawner, "import os; result = dict(os.environ)", environment={"GREETING": "hello"})
    assert seen.pop("PATH").startswith("/usr/local/sbin:") and seen == {
        "HOME": "/home/nonroot", "LANG": "C.UTF-8", "TZ": "UTC", "GREETING": "hello"}


def test_the_images_own_variables_come_first_but_for_home(call_spawner):
    given = {"PATH": "/opt/x", "LANG": "de_DE.UTF-8", "TZ": "Europe/Berlin", "HOME": "/root", "PYTHONPATH": "/agent"}
    seen = result_of(call_spawner, "import os, orders; result = dict(os.environ)", environment=given)
    assert seen == {**given, "HOME": "/home/nonroot"}


def test_variables_that_the_loader_reads_have_their_effect(call_spawner):
    """A library that only LD_LIBRARY_PATH leads to; standard input, descriptors and the call itself are as ever."""
    with tempfile.TemporaryFile() as file:
        file.write(b"a line\n")
        file.seek(0)
        code = """
            import ctypes, os, sys
            try:
                ctypes.CDLL("libcopy.so")
                found = True
            except OSError:
                found = False
            result = [found, sys.stdin.read(), os.getpid(), os.environ.get("LD_LIBRARY_PATH"), sys.argv,
                      sorted(os.listdir("/proc/self/fd"))]
            """
        request = request_of("tools:run", {"code": textwrap.dedent(code)})
        given = {"environment": {"LD_LIBRARY_PATH": "/agent/lib"}}
        with_it = run(call_spawner, request | given, stdin=file.fileno()).result
        without = run(call_spawner, request).result
    assert with_it == [True, "a line\n", 2, "/agent/lib", [""], ["0", "1", "1024", "2", "3"]]
    assert without == [False, "", 2, None, [""], ["0", "1", "1024", "2", "3"]]


def test_the_virtual_environment_that_the_images_python_belongs_to(call_spawner):
    assert result_of(call_spawner, """
        import only_in_venv, subprocess, sys
        command = [sys.executable, "-c", "import only_in_venv, sys; print(sys.prefix)"]
        child = subprocess.run(command, capture_output=True)
        result = [sys.executable, sys.prefix, sys.base_prefix, child.stdout.decode()]
        """) == ["/opt/venv/bin/python", "/opt/venv", "/usr/local", "/opt/venv\n"]


def test_no_descriptor_but_its_own(call_spawner):
    seen = result_of(call_spawner, """
        import os
        result = {}
        for fd in os.listdir("/proc/self/fd"):
            try:
                result[fd] = os.readlink(f"/proc/self/fd/{fd}").split(":")[0]
            except FileNotFoundError:  # that of the listing
                pass
        """)
    assert seen == {"0": "/dev/null", "1": "pipe", "2": "pipe", "1024": "socket"}


def test_no_process_but_its_own(call_spawner):
    seen = result_of(call_spawner, """
        import os, subprocess, sys
        def read(path):
            try:
                return open(path).read()
            except OSError as problem:
                return problem.strerror
        init = {name: read("/proc/1/" + name) for name in ("environ", "maps", "mem", "cmdline")}
        command = [sys.executable, "-c", "import os; print(os.listdir('/proc/self/fd'))"]
        result = {"pids": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()), "init": init,
                  "own": os.getpid(), "child": subprocess.run(command, capture_output=True, text=True).stdout,
                  "ids": os.getresuid() + os.getresgid(), "groups": os.getgroups()}
        """)
    assert seen["own"] == 2 and seen["pids"] in ([2], [1, 2]) and seen["ids"] == [65532] * 6 and seen["groups"] == []
    assert set(seen["init"].values()) <= {"Permission denied", "No such file or directory", ""}, seen["init"]
    assert seen["child"] == "['0', '1', '2', '3']\n"


def test_privileges_are_gone(call_spawner):
    text = result_of(call_spawner, "result = open('/proc/self/status').read()")
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"], status["Seccomp_filters"]) == ("1", "2", "2")


def test_limits(call_spawner):
    limits = result_of(call_spawner, """
        from resource import *
        which = RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_NPROC, RLIMIT_FSIZE
        result = [getrlimit(limit) for limit in which]
        """)
    assert limits == [[0, 0], [1024, 1024], [0, 0], [256, 256], [256 << 20, 256 << 20]]


def test_a_gibibyte_and_two_processors(call_spawner):
    calls.create(call_spawner)
    room = calls.ready(call_spawner)
    groups = [process.cgroups for process in host.descendants_of(call_spawner.process.pid)]
    (cpu,) = {group["cpu"] for group in groups if "room-" in str(group.get("cpu"))}
    (memory,) = {group["memory"] for group in groups if "room-" in str(group.get("memory"))}
    if (cpu / "cpu.max").exists():
        quota, period = (cpu / "cpu.max").read_text().split()
        limit = (memory / "memory.max").read_text()
    else:
        quota, period = ((cpu / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        limit = (memory / "memory.limit_in_bytes").read_text()
    assert (int(quota) / int(period), int(limit)) == (2.0, calls.MEMORY_BYTES)
    calls.claim(call_spawner, room)
    room.send(request_of("tools:add", {"a": 1, "b": 2}))
    assert calls.finish(call_spawner, room).result == 3


def test_where_it_can_write(call_spawner):
    seen = result_of(call_spawner, """
        import os
        result = {}
        for folder in ("/", "/app", "/opt/sandbox", "/.sandbox", "/usr", "/etc", "/dev", "/proc", "/mnt",
                       "/mnt/data", "/tmp", "/home/nonroot", "/dev/shm"):
            try:
                open(folder + "/x", "w").close()
                result[folder] = "ok"
            except OSError as problem:
                result[folder] = problem.errno
        result["cwd"] = os.getcwd()
        """)
    assert seen.pop("cwd") == "/app"
    good = {folder for folder, outcome in seen.items() if outcome == "ok"}
    assert good == {"/mnt/data", "/tmp", "/home/nonroot", "/dev/shm"}


def test_mounts_say_nothing_of_the_host(call_spawner):
    text = result_of(call_spawner, """
        result = "".join(open("/proc/self/" + name).read() for name in ("mountinfo", "mounts", "mountstats"))
        """)
    for word in (calls.IMAGE_NAME[:32], "/build", "/run", "code-sandbox", "images", "pytest", "/var", "sandboxd"):
        assert word not in text, word
    mounts = result_of(call_spawner, "result = open('/proc/self/mountinfo').read()")
    for line in mounts.splitlines():
        root, place = line.split()[3:5]
        assert root in ("/", "/" + place.rsplit("/", 1)[-1]), line


def test_no_secret_of_the_service_is_in_reach(call_spawner):
    """The needle comes in halves, so that what searches does not find itself; the last one is the control."""
    seen = result_of(call_spawner, f"""
        import os
        halves = [({calls.CANARY[:12]!r}.encode(), {calls.CANARY[12:]!r}.encode()), (b"control-of-", b"the-search")]
        kept = halves[1][0] + halves[1][1]
        hits, size = [0, 0], 0
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in open("/proc/self/maps"):
                fields = line.split()
                if not fields[1].startswith("r") or fields[-1].startswith("[v"):
                    continue
                start, end = (int(part, 16) for part in fields[0].split("-"))
                memory.seek(start)
                block = memory.read(end - start)
                size += len(block)
                for i, (first, second) in enumerate(halves):
                    at = block.find(first)
                    while at >= 0:
                        hits[i] += block.startswith(second, at + len(first))
                        at = block.find(first, at + 1)
        for folder, _, names in os.walk("/", onerror=lambda problem: None):
            if folder.startswith("/proc/"):
                continue
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                    try:
                        text = open(path, "rb").read()
                    except OSError:
                        continue
                    hits[0] += halves[0][0] + halves[0][1] in text
        result = [size > 4 << 20, hits[0], hits[1] > 0]
        """)
    assert seen == [True, 0, True]


# ---- ways out


@pytest.fixture(scope="module")
def attempts(call_spawner):
    features.need_x86_64()
    names = ("mount", "umount2", "pivot_root", "chroot", "setns", "ptrace", "process_vm_readv", "kcmp", "bpf",
             "add_key", "keyctl", "perf_event_open", "open_by_handle_at", "io_uring_setup", "userfaultfd", "fsopen",
             "open_tree", "move_mount", "clone3", "pidfd_getfd", "setuid", "setgroups", "capset", "sethostname",
             "syslog", "swapon", "reboot", "init_module", "kexec_load", "iopl", "modify_ldt", "acct", "memfd_secret")
    tries = {name: (NUMBERS[name], 0, 0, 0, 0, 0) for name in names}
    tries |= {flag: (NUMBERS["unshare"], number) for flag, number in CLONE_FLAGS.items()}
    code = syscalls.attempt(tries)
    return printed_by(call_spawner, code)


def test_every_call_that_leads_out_is_refused(attempts):
    """Each of them gets another answer from the kernel itself: tests/layers."""
    assert {name: outcome for name, outcome in attempts.items() if outcome not in ("EPERM", "ENOSYS")} == {}


FAMILIES = """
import json, socket
made = []
for family in range(50):
    for kind in (1, 2, 3, 5):
        for protocol in (0, 1, 6, 17, 58, 132, 136, 255, 262):
            try:
                socket.socket(family, kind, protocol).close()
            except OSError as problem:
                continue
            made.append((family, kind, protocol))
print(json.dumps(made))
"""


def test_sockets_of_tcp_and_udp_and_within_the_room_only(call_spawner):
    inside = {tuple(made) for made in printed_by(call_spawner, FAMILIES)}
    outside = {tuple(made) for made in json.loads(unconfined.run(FAMILIES))}
    internet = {(family, kind, protocol) for family in (2, 10) for kind, protocol in ((1, 0), (1, 6), (2, 0), (2, 17))}
    assert inside == internet | {(1, kind, protocol) for kind in (1, 2, 3, 5) for protocol in (0, 1)}
    assert (2, 3, 255) in outside and (16, 3, 0) in outside  # raw, netlink: the controls


def test_signals_reach_nobody_else(call_spawner):
    seen = result_of(call_spawner, """
        import os, signal
        result = []
        for pid in (1, -1):
            try:
                os.kill(pid, signal.SIGTERM if pid == 1 else 0)
                result.append("sent")
            except OSError as problem:
                result.append(problem.strerror)
        """)
    assert seen[0] in ("Operation not permitted", "sent") and result_of(call_spawner, "result = 1") == 1


# ---- the network: an empty one, whose addresses all lead to the egress process


def test_an_address_that_is_not_public_is_refused_and_told(call_spawner):
    calls.create(call_spawner)
    room = calls.ready(call_spawner)
    egress = os.dup(room.egress)
    calls.claim(call_spawner, room)
    room.send(request_of("tools:run", {"code": textwrap.dedent("""
        import socket, time
        result, began = [], time.monotonic()
        for address in ("10.1.2.3", "fd00::1", "127.0.0.1"):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            try:
                with socket.socket(family) as connection:
                    connection.settimeout(10)
                    connection.connect((address, 80))
                    result.append(connection.recv(100).decode())
            except OSError as problem:
                result.append(type(problem).__name__)
        result.append(time.monotonic() - began < 5)
        """)}))
    answer = calls.finish(call_spawner, room)
    assert answer.result[-1] and set(answer.result[:-1]) <= {"", "ConnectionResetError", "ConnectionRefusedError"}
    told = read_all(egress)
    os.close(egress)
    addresses, at = [], 0
    while at < len(told):
        kind, length = struct.unpack_from("<II", told, at)
        decision, _, family, port, _, address = struct.unpack_from("<IIHHI16s", told, at + 8)
        assert (kind, decision, port) == (boundary.FRAME_EGRESS, 2, 80)
        addresses.append(str(ipaddress.ip_address(address[: 4 if family == 4 else 16])))
        at += 8 + length
    assert addresses == ["10.1.2.3", "fd00::1", "127.0.0.1"]


def test_other_ports_refuse_at_once_and_own_servers_work(call_spawner):
    assert result_of(call_spawner, """
        import socket, threading, time
        result, began = [], time.monotonic()
        for port in (22, 81, 5432, 8080):
            try:
                socket.create_connection(("93.184.216.34", port), 5)
                result.append("connected")
            except OSError as problem:
                result.append(type(problem).__name__)
        server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=lambda: server.accept()[0].sendall(b"hello")).start()
        result += [socket.create_connection(server.getsockname(), 5).recv(5).decode(), time.monotonic() - began < 3]
        """) == ["ConnectionRefusedError"] * 4 + ["hello", True]


def test_the_host_knows_its_own_names(call_spawner):
    assert result_of(call_spawner, """
        import socket
        result = [socket.getaddrinfo("localhost", 80, socket.AF_INET)[0][4][0], socket.gethostname(),
                  socket.gethostbyname(socket.gethostname())]
        """) == ["127.0.0.1", "sandbox", "127.0.0.1"]


# ---- what may go wrong with an image


def test_an_unknown_image_is_answered(call_spawner):
    calls.create(call_spawner, request=77, image=(1, 2))
    message, _ = call_spawner.receive(boundary.CREATE_FAILED)
    assert message["request"] == 77 and os.strerror(message["error"]) == "No such file or directory"


def folder_of(spawner):
    return spawner.log.parent


def image_file(spawner, image):
    return folder_of(spawner) / "data" / "images" / f"{image[0]:016x}{image[1]:016x}.erofs"


@pytest.mark.parametrize("number, python, error", [
    (1, "/nowhere/python3", "No such file or directory"),
    (2, "/etc/passwd", "Permission denied"),
    (3, "/usr", "Permission denied"),
    (4, "python", "Too many levels of symbolic links"),
])
def test_an_image_whose_python_cannot_be_executed(call_spawner, tmp_path, number, python, error):
    agent_image.make(tmp_path, image_file(call_spawner, (5, number)), {}, python, bare=True)
    calls.create(call_spawner, image=(5, number))
    message, _ = call_spawner.receive(boundary.CREATE_FAILED)
    assert os.strerror(message["error"]) == error


def test_a_python_that_is_none_and_ends_at_once(call_spawner, tmp_path):
    """It has been executed, so the room was ready; then its process died before it was claimed."""
    agent_image.make(tmp_path, image_file(call_spawner, (5, 5)), {}, "/bin/sh")
    calls.create(call_spawner, image=(5, 5))
    room = calls.ready(call_spawner)
    message, _ = call_spawner.receive(boundary.EXITED)
    assert (message["high"], message["low"]) == room.id and message["reason"] == boundary.END_LOST
    assert b"Illegal option" in read_all(room.stderr)
    room.close()


def test_a_python_that_says_nothing_has_its_time_and_no_more(call_spawner, tmp_path):
    agent_image.make(tmp_path, image_file(call_spawner, (5, 6)), {"/sleep": "#!/bin/sh\nsleep 3600\n"}, "/sleep")
    calls.create(call_spawner, image=(5, 6))
    room = calls.ready(call_spawner)
    calls.claim(call_spawner, room, 700)
    room.send(request_of("tools:add"))
    answer = calls.finish(call_spawner, room)
    assert (answer.end, answer.started, answer.exited["reason"]) == (None, False, boundary.END_TIMEOUT)


def test_a_file_that_is_no_image(call_spawner):
    image_file(call_spawner, (6, 6)).write_bytes(b"x" * 8192)
    calls.create(call_spawner, image=(6, 6))
    message, _ = call_spawner.receive(boundary.CREATE_FAILED)
    assert os.strerror(message["error"]) == "Invalid argument"


@pytest.mark.parametrize("fields", [
    {"type": boundary.CLAIM, "timeout_ms": 1000, "flags": boundary.CLAIM_SESSION},
    {"type": boundary.CLAIM, "timeout_ms": 120_001},
    {"type": boundary.REST},
    {"type": boundary.RENEW},
])
def test_a_call_is_no_session(tmp_path, fields):
    spawner = calls.start_spawner(tmp_path)
    calls.create(spawner)
    room = calls.ready(spawner)
    spawner.send(high=room.id[0], low=room.id[1], **fields)
    assert spawner.wait_end() == 1
    room.close()
    spawner.stop()


# ---- many at once


def instance_of(spawner):
    """As the spawner names its folders: FNV-1a of the data folder."""
    number = 0xCBF29CE484222325
    for byte in str(folder_of(spawner) / "data").encode():
        number = (number ^ byte) * 0x100000001B3 % (1 << 64)
    return f"sandboxd-{number:016x}"


def footprint(spawner):
    """What a call could leave behind. A namespace lasts only as long as a process, a mount or a descriptor of it."""
    pid = spawner.process.pid
    return {
        "processes": sorted(process.pid for process in host.descendants_of(pid)),
        "mounts": sorted(line.split(" ", 3)[3] for line in host.mounts_of(pid)),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "cgroups": [folder for folder in host.cgroup_folders("/sys/fs/cgroup") if instance_of(spawner) in folder],
    }


def test_twenty_calls_at_once_leave_nothing_behind(call_spawner):
    call_spawner.await_template()  # else it would come and go while processes are counted
    call(call_spawner, "tools:add", a=1, b=1)  # the image is mounted from here on
    assert host.wait_until(lambda: not any("room-" in folder for folder in footprint(call_spawner)["cgroups"]), 20)
    before = footprint(call_spawner)
    assert len(before["cgroups"]) >= 2
    for request in range(20):
        calls.create(call_spawner, request)
    rooms = {}
    for _ in range(20):
        room = calls.ready(call_spawner, None)
        rooms[room.request] = room
    code = "import os, subprocess; subprocess.Popen(['/bin/sleep', '3600']); os.fork() or os.setsid(); result = {!r}"
    for request, room in rooms.items():
        calls.claim(call_spawner, room)
        room.send(request_of("tools:run", {"code": code.format(request)}))
    results = {}
    for request, room in rooms.items():
        while (frame := frame_of(room.claim))[0] != boundary.FRAME_CALL_END:
            pass
        results[request] = json.loads(frame[1])["result"]
    assert results == {request: request for request in rooms}
    ended = {(m["high"], m["low"]) for m, _ in (call_spawner.receive(boundary.EXITED, seconds=60) for _ in rooms)}
    assert ended == {room.id for room in rooms.values()}
    for room in rooms.values():
        room.close()
    assert host.wait_until(lambda: footprint(call_spawner) == before, 20), (before, footprint(call_spawner))
