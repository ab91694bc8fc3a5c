"""The baseline: a fresh interpreter of the same image in bubblewrap, with every advantage that one can give it.

The same image file, mounted once beforehand; modules compiled; matplotlib's font list in its place; the same variables,
so the same number of threads; the same user and the same kinds of namespaces, no network. Two runs before anything is
measured warm the page cache. Started by posix_spawn from a small process. It has no cgroup, no seccomp filter and no
Landlock, and hands no files over: it does less than the service does.
"""
import ctypes
import os
import shutil
import subprocess
import time

CLONE_NEWNS = 0x20000
PROGRAM = shutil.which("bwrap")
FONT_LISTS = "usr/local/share/matplotlib"

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/nonroot",
    "USER": "nonroot",
    "LOGNAME": "nonroot",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/home/nonroot/.config/matplotlib",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}


def version():
    return subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def own_mounts():
    """From here on, mounts of this process are its own and go away with it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare: run the benchmark as root")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def mount_image(image, folder):
    """Mounts an image file as the service does; a folder is used as it is."""
    if os.path.isdir(image):
        return image
    kind = "squashfs" if image.endswith(".squashfs") else "erofs"
    if subprocess.run(["mount", "-t", kind, "-o", "ro,nosuid,nodev", image, folder]).returncode != 0:
        raise RuntimeError(f"cannot mount {image}; give the root folder with --baseline-root")
    return folder


def unmount_image(folder):
    if os.path.ismount(folder):
        subprocess.run(["umount", "--lazy", folder], check=True)


class Bubblewrap:
    def __init__(self, root):
        self.arguments = [
            PROGRAM, "--unshare-all", "--die-with-parent", "--uid", "65532", "--gid", "65532",
            "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/mnt/data",
            "--tmpfs", "/home/nonroot", "--dir", ENVIRONMENT["MPLCONFIGDIR"],
        ]
        for name in sorted(os.listdir(os.path.join(root, FONT_LISTS))):
            self.arguments += ["--ro-bind", os.path.join(root, FONT_LISTS, name),
                               os.path.join(ENVIRONMENT["MPLCONFIGDIR"], name)]
        self.arguments += ["--chdir", "/mnt/data", "/usr/local/bin/python3", "-c"]

    def run(self, snippet):
        """How long it took in ns, from before the spawn until all output is read and the process is reaped."""
        arguments = [*self.arguments, snippet.code]
        began = time.perf_counter_ns()
        read_fd, write_fd = os.pipe()
        pid = os.posix_spawn(PROGRAM, arguments, ENVIRONMENT, file_actions=[
            (os.POSIX_SPAWN_DUP2, write_fd, 1), (os.POSIX_SPAWN_DUP2, write_fd, 2)])
        os.close(write_fd)
        output = b""
        while part := os.read(read_fd, 1 << 16):
            output += part
        _, status = os.waitpid(pid, 0)
        took = time.perf_counter_ns() - began
        os.close(read_fd)
        if status != 0 or snippet.expected not in output.decode():
            raise RuntimeError(f"{snippet.title} in bubblewrap went wrong ({status}): {output[-600:].decode()}")
        return took
