"""From a tree to one file: erofs, or squashfs where erofs cannot be made or mounted."""

import os
import shutil
import subprocess

UUID = "5a4db0c5-0000-4000-8000-000000000000"  # fixed: the same tree gives the same bytes


def _kernel_has(name):
    with open("/proc/filesystems", encoding="ascii") as file:
        if any(line.split()[-1] == name for line in file):
            return True
    return bool(shutil.which("modinfo")) and subprocess.run(["modinfo", name], capture_output=True).returncode == 0


def _erofs_compresses():
    if not shutil.which("mkfs.erofs"):
        return False
    out = subprocess.run(["mkfs.erofs", "--help"], capture_output=True, text=True)
    return "lz4hc" in out.stdout + out.stderr


def choose(wanted=None):
    """("image.erofs" | "image.squashfs" | None, why)."""
    if wanted:
        return None if wanted == "folder" else "image." + wanted, "asked for " + wanted
    if _erofs_compresses() and _kernel_has("erofs"):
        return "image.erofs", "lz4hc"
    why = "this kernel has no erofs" if _erofs_compresses() else "mkfs.erofs with lz4hc is missing (package erofs-utils)"
    if shutil.which("mksquashfs") and _kernel_has("squashfs"):
        return "image.squashfs", why
    return None, why + ", and squashfs is not to be had either: the folder alone will serve"


def pack(root, target, epoch):
    log = subprocess.PIPE
    if target.endswith(".erofs"):
        # Level 6: 10 s for 177 MiB. Level 9 takes twice, level 12 six times as long, for less than one per cent.
        command = ["mkfs.erofs", "-zlz4hc,6", "-C65536", f"-T{epoch}", f"-U{UUID}", "--all-root", "-x-1", target, root]
        env = dict(os.environ)
    else:
        command = ["mksquashfs", root, target, "-comp", "zstd", "-Xcompression-level", "9", "-all-root", "-no-xattrs",
                   "-noappend", "-no-progress", "-quiet"]
        env = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    done = subprocess.run(command, env=env, stdout=log, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2000:]}")
    os.chmod(target, 0o644)
