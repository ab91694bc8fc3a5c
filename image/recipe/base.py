"""Everything around Python: folders, /etc, shell and text tools, terminal descriptions, time zones, the CJK font."""

import glob
import os
import re
import shutil
import subprocess

from . import settings, sources

LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}


class BaseError(Exception):
    """Something of the distribution is missing; the text says what to install."""


def skeleton(root, files):
    """Folders, mount points and our own /etc."""
    for folder in ("usr/bin", "usr/lib", "usr/lib64", "usr/share", "usr/local/bin", "usr/local/lib", "usr/local/share",
                   *settings.MOUNT_POINTS):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    for name, target in LINKS.items():
        os.symlink(target, os.path.join(root, name))
    shutil.copytree(os.path.join(files, "etc"), os.path.join(root, "etc"), copy_function=shutil.copyfile)
    os.symlink("../usr/share/zoneinfo/Etc/UTC", os.path.join(root, "etc", "localtime"))


def _find_program(name):
    for folder in ("/usr/bin", "/bin"):
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            return os.path.realpath(path)
    return None


def tools(root):
    """Copy each program by name; returns the list of those in the image."""
    done = []
    for package, names in settings.TOOLS.items():
        for name in names:
            source = _find_program(name)
            if source is None:
                if package in settings.TOOLS_OPTIONAL:
                    continue
                raise BaseError(f"/usr/bin/{name} is missing on this machine. Run: apt-get install {package}")
            sources.copy(source, os.path.join(root, "usr/bin", name), 0o755)
            done.append(name)
    for name, program in settings.TOOL_LINKS.items():
        os.symlink(program, os.path.join(root, "usr/bin", name))
        done.append(name)
    return sorted(done)


def terminals(root):
    for name in settings.TERMINALS:
        for base in ("/lib/terminfo", "/usr/share/terminfo", "/etc/terminfo"):
            source = os.path.join(base, name)
            if os.path.exists(source):
                sources.copy(source, os.path.join(root, "usr/share/terminfo", name))
                break


def locale(root):
    """C.UTF-8, which the C library does not have built in. Debian and Ubuntu bring it with libc-bin."""
    for name in ("C.utf8", "C.UTF-8"):
        source = os.path.join("/usr/lib/locale", name)
        if os.path.isdir(source):
            target = os.path.join(root, "usr/lib/locale/C.utf8")
            shutil.copytree(source, target, copy_function=lambda one, other: sources.copy(one, other) or other)
            return
    raise BaseError("/usr/lib/locale/C.utf8 is missing on this machine. Run: apt-get install libc-bin")


def zones(root, site):
    """Time zones come from the pinned tzdata wheel, so that C programs and Python read the same, reproducible data."""
    if not os.path.exists(os.path.join(site, "tzdata/zoneinfo/Etc/UTC")):
        raise BaseError("the tzdata wheel has no zoneinfo/Etc/UTC: is tzdata in image/requirements.lock?")
    os.symlink(os.path.join("/", os.path.relpath(site, root), "tzdata/zoneinfo"), os.path.join(root, "usr/share/zoneinfo"))


def _owners(paths):
    """{package: version} of the distribution's packages that brought these files."""
    # On merged systems the package database may know /usr/lib/x as /lib/x.
    asked = [form for path in paths for form in (path, re.sub(r"^/usr/(bin|lib|lib64|sbin)/", r"/\1/", path))]
    out = subprocess.run(["dpkg-query", "-S", *dict.fromkeys(asked)], capture_output=True, text=True).stdout
    names = {name.strip() for line in out.splitlines() if not line.startswith("diversion ")
             for name in line.rsplit(": ", 1)[0].split(",")}
    out = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Version}\n", *sorted(names)], capture_output=True, text=True)
    return dict(sorted(line.split("\t") for line in out.stdout.splitlines()))


def licences(root):
    """The copyright file of every package that something was copied from; returns {package: version}."""
    packages = _owners(sources.paths())
    for name in packages:
        source = f"/usr/share/doc/{name}/copyright"
        if not os.path.exists(source):
            raise BaseError(f"{source} is missing on this machine. Run: apt-get install --reinstall {name}")
        sources.copy(os.path.realpath(source), os.path.join(root, f"usr/share/doc/{name}/copyright"))
    return packages


def cjk_font(root):
    """Copy the font that covers Chinese, Japanese and Korean; returns its family name, or None if it is not there."""
    if not os.path.exists(settings.CJK_FONT):
        return None
    sources.copy(settings.CJK_FONT, os.path.join(root, settings.CJK_FONT.lstrip("/")))
    return settings.CJK_FAMILY


def common_font_paths(root, site):
    """DejaVu where programs of a Debian system expect it, as links to matplotlib's copy. After the font list is built."""
    folder = os.path.join(root, "usr/share/fonts/truetype/dejavu")
    os.makedirs(folder)
    for path in sorted(glob.glob(os.path.join(site, "matplotlib/mpl-data/fonts/ttf/DejaVu*.ttf"))):
        os.symlink("/" + os.path.relpath(path, root), os.path.join(folder, os.path.basename(path)))
