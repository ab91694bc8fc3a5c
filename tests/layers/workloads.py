"""Honest work that every layer must let through, one function a kind; run by test_workloads.c under each layer alone.

Usage: workloads.py [FOLDER]    (FOLDER: where it may write; default: the working directory)

Uses the standard library only, so that any Python 3.9 or later can run it; numpy and the rest are tested in the built
image by tests/e2e. Prints a line for each and ends with 1 if any failed.
"""

import asyncio
import concurrent.futures
import ctypes
import ctypes.util
import errno
import faulthandler
import fcntl
import mmap
import multiprocessing
import multiprocessing.shared_memory
import os
import pathlib
import resource
import selectors
import select
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()


def files():
    one, two = HERE / "one", HERE / "two"
    one.mkdir()
    two.mkdir()
    (one / "a").write_text("text")
    os.rename(one / "a", two / "b")  # between folders: Landlock's "refer"
    os.link(two / "b", one / "hard")
    os.symlink("hard", one / "soft")
    assert (one / "soft").read_text() == "text"
    shutil.copy2(two / "b", one / "copy")
    os.truncate(one / "copy", 2)
    os.utime(one / "copy", (1, 1))
    os.chmod(one / "copy", 0o600)
    os.mkfifo(one / "fifo")
    assert stat.S_ISFIFO(os.stat(one / "fifo").st_mode)
    with open(two / "b", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)
        os.posix_fallocate(file.fileno(), 0, 4096)
        with mmap.mmap(file.fileno(), 4096) as memory:
            memory[:3] = b"new"
        os.fsync(file.fileno())
    os.listxattr(two / "b")
    assert sorted(entry.name for entry in os.scandir(one)) == ["copy", "fifo", "hard", "soft"]
    shutil.rmtree(one)
    shutil.rmtree(two)


def temporary_files():
    with tempfile.TemporaryDirectory(dir=HERE) as folder, tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b"x")
    with tempfile.TemporaryFile(dir=HERE) as file:
        file.write(b"x")


def memory_files():
    fd = os.memfd_create("memory", os.MFD_ALLOW_SEALING)
    os.write(fd, b"sealed")
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    try:
        os.write(fd, b"more")
        raise AssertionError("a sealed file was written to")
    except PermissionError:
        os.close(fd)


def threads():
    results = []
    workers = [threading.Thread(target=lambda n=n: results.append(n)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(results) == list(range(8))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(abs, range(10))) == 45


def programs():
    out = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True).stdout
    assert out == "42\n"
    assert subprocess.run("echo $((6 * 7)) | cat", shell=True, capture_output=True, text=True).stdout == "42\n"
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    child.terminate()
    assert child.wait() == -signal.SIGTERM


def script():
    path = HERE / "script.sh"
    path.write_text("#!/bin/sh\necho from a script\n")
    path.chmod(0o700)
    assert subprocess.run([str(path)], capture_output=True, text=True, check=True).stdout == "from a script\n"
    path.unlink()


def fork_and_kill():
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(1)
    os.kill(pid, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.signal(signal.SIGUSR1, lambda *_: os._exit(7))
        os.kill(0, signal.SIGUSR1)  # the process group: itself
        time.sleep(60)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    pid = os.fork()
    if pid == 0:
        os._exit(3)
    fd = os.pidfd_open(pid)
    select.poll().register(fd)
    os.waitid(os.P_PIDFD, fd, os.WEXITED)
    os.close(fd)


def square(number):
    return number * number


def processes(method):
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:  # its locks are semaphores in /dev/shm
        assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
    queue = context.Queue()
    worker = context.Process(target=queue.put, args=("hello",))
    worker.start()
    assert queue.get(timeout=30) == "hello"
    worker.join()


def processes_fork():
    processes("fork")


def processes_spawn():
    processes("spawn")


def processes_forkserver():
    processes("forkserver")


def shared_memory():
    block = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    block.buf[0] = 1
    block.close()
    block.unlink()


def manager():
    with multiprocessing.Manager() as shared:
        numbers = shared.list([1])
        numbers.append(2)
        assert list(numbers) == [1, 2]


def executor():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert list(pool.map(square, [3, 4])) == [9, 16]


def unix_sockets():
    path = str(HERE / "socket")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(path)
        server.listen()
        client.connect(path)
        accepted, _ = server.accept()
        with accepted, open("/dev/null") as null:
            socket.send_fds(client, [b"here"], [null.fileno()])
            data, descriptors, _, _ = socket.recv_fds(accepted, 16, 1)
            assert data == b"here" and len(descriptors) == 1
            os.close(descriptors[0])
    os.unlink(path)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:  # abstract, own domain
        server.bind("\0workloads")
        server.listen()
        client.connect("\0workloads")


def event_loop():
    async def serve():
        async def echo(reader, writer):
            writer.write(await reader.readline())
            writer.close()

        path = str(HERE / "loop")
        async with await asyncio.start_unix_server(echo, path):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b"line\n")
            assert await reader.readline() == b"line\n"
            writer.close()
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=asyncio.subprocess.PIPE)
        assert (await process.communicate())[0] == b"1\n"
        assert await asyncio.to_thread(square, 5) == 25
        await asyncio.sleep(0.01)

    asyncio.run(serve())


def database():
    path = HERE / "data.db"
    with sqlite3.connect(path) as connection:
        assert connection.execute("pragma journal_mode=wal").fetchone() == ("wal",)
        connection.execute("pragma mmap_size=1048576")
        connection.execute("create table t (n)")
        connection.executemany("insert into t values (?)", [(n,) for n in range(100)])
        connection.commit()
        assert connection.execute("select sum(n) from t").fetchone() == (4950,)
        connection.execute("vacuum")
    connection.close()


def waiting():
    read_end, write_end = os.pipe()
    with selectors.DefaultSelector() as selector:
        selector.register(read_end, selectors.EVENT_READ)
        os.write(write_end, b"x")
        assert selector.select(1)
    assert select.select([read_end], [], [], 1)[0]
    os.set_blocking(read_end, False)
    os.close(read_end)
    os.close(write_end)


def signals():
    rung = []
    signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.sigtimedwait([signal.SIGUSR1], 0.1)
    assert rung
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.sigwait([signal.SIGUSR1]) == signal.SIGUSR1
    faulthandler.dump_traceback_later(60)
    faulthandler.cancel_dump_traceback_later()


def native_code():
    libc = ctypes.CDLL(None)
    numbers = (ctypes.c_int * 3)(3, 1, 2)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    libc.qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
    assert list(numbers) == [1, 2, 3]
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.close()


def limits_and_scheduling():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 64), hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.nice(1)
    os.getpriority(os.PRIO_PROCESS, 0)
    resource.getrusage(resource.RUSAGE_CHILDREN)
    os.sysconf("SC_PHYS_PAGES")
    os.uname()


def refusal_is_quick():
    """What is not allowed must fail at once, and in a way that libraries know."""
    start = time.monotonic()
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.socket(family).close()
        except OSError as error:
            assert error.errno == errno.EAFNOSUPPORT, error
    assert time.monotonic() - start < 1


WORKLOADS = [
    files,
    temporary_files,
    memory_files,
    threads,
    programs,
    script,
    fork_and_kill,
    processes_fork,
    processes_spawn,
    processes_forkserver,
    shared_memory,
    manager,
    executor,
    unix_sockets,
    event_loop,
    database,
    waiting,
    signals,
    native_code,
    limits_and_scheduling,
    refusal_is_quick,
]


def main():
    failed = 0
    os.chdir(HERE)
    for workload in WORKLOADS:
        try:
            workload()
            print("ok  ", workload.__name__)
        except BaseException:
            failed += 1
            print("FAIL", workload.__name__)
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
