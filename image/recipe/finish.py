"""The last steps inside the tree: compiled modules, matplotlib's font list, fonts by default, modes and times."""

import concurrent.futures
import glob
import os
import re
import stat
import subprocess

from . import settings

FILES_PER_COMPILER = 250


def _files(top, suffix):
    """All files of that kind, sorted; links to folders are not followed."""
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name.endswith(suffix))


def compile_modules(interpreter, root):
    """Precompile everything, marked "unchecked": Python neither compares times nor could it write a newer file.

    What compiled before in the same process shows in a few bytes of the result (marshal notes which strings are shared).
    So each process gets a fixed list of files, whatever the number of CPUs, and two builds give the same bytes.
    """
    library = os.path.join(root, settings.PREFIX, "lib", interpreter.name)
    sources = _files(library, ".py")
    lists = [sources[i:i + FILES_PER_COMPILER] for i in range(0, len(sources), FILES_PER_COMPILER)]
    # Files that are no valid Python, such as templates, are left as they are; image/verify checks that there are no others.
    command = [interpreter.executable, "-s", "-S", "-P", "-m", "compileall", "-f", "-q", "-q", "-s", root, "-p", "/",
               "--invalidation-mode", "unchecked-hash", "-i", "-"]

    def compile_list(names):
        subprocess.run(command, cwd="/", env={"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}, check=False, text=True,
                       input="".join(name + "\n" for name in names), stdout=subprocess.DEVNULL)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(compile_list, lists))
    return len(_files(library, ".pyc"))


def default_fonts(site, family):
    """Make matplotlib fall back to the CJK font, glyph by glyph, in its defaults and in every style that sets a family.

    matplotlib looks for a glyph in each family of font.family in turn, but only in the best match of a generic name such
    as sans-serif; so the second font has to stand in font.family itself.
    """
    data = os.path.join(site, "matplotlib/mpl-data")
    for path in [os.path.join(data, "matplotlibrc"), *glob.glob(os.path.join(data, "stylelib", "*.mplstyle"))]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        changed = re.sub(r"^(#?font\.family\s*:\s*)([\w -]+?)[ \t]*$", rf"\1\2, {family}", text, flags=re.M)
        if changed != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(changed)
        elif path.endswith("matplotlibrc"):
            raise RuntimeError("matplotlibrc has no font.family line to extend")


def run_inside(root, interpreter, code, environment):
    """Run Python of the image with the image as root folder: the paths that it sees are those it will see later."""
    def enter():
        os.chroot(root)
        os.chdir("/")

    env = {"PATH": "/usr/local/bin:/usr/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **environment}
    return subprocess.run([f"/usr/local/bin/{interpreter.name}", "-s", "-P", "-B", "-c", code], preexec_fn=enter, env=env, check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def font_list(root, interpreter):
    """Let matplotlib write its list of fonts once, here, instead of searching for them in every sandbox."""
    folder = os.path.join(root, settings.FONT_LIST)
    os.makedirs(folder)
    code = "import matplotlib.font_manager as m; print('\\n'.join(sorted({f.name for f in m.fontManager.ttflist})))"
    names = run_inside(root, interpreter, code, {"MPLCONFIGDIR": "/" + settings.FONT_LIST, "MPLBACKEND": "Agg"})
    for name in os.listdir(folder):
        if not re.fullmatch(r"fontlist-v[\w.]+\.json", name):
            os.unlink(os.path.join(folder, name))
    if not os.listdir(folder):
        raise RuntimeError("matplotlib wrote no font list")
    return names.split("\n")[:-1]


def normalise(root, epoch):
    """root owns everything, everyone may read, nobody may write; one time for all; nothing setuid.

    Also removes what programs left in the folders that serve as mount points.
    """
    for point in settings.MOUNT_POINTS:
        for entry in os.scandir(os.path.join(root, point)):
            subprocess.run(["rm", "-rf", "--", entry.path], check=True)
    for folder, folders, names in os.walk(root, topdown=False):
        for path in [*(os.path.join(folder, n) for n in (*folders, *names)), folder]:
            mode = os.lstat(path).st_mode
            os.chown(path, 0, 0, follow_symlinks=False)
            if stat.S_ISDIR(mode):
                os.chmod(path, 0o755)
            elif stat.S_ISREG(mode):
                os.chmod(path, 0o755 if mode & 0o111 else 0o644)
            elif not stat.S_ISLNK(mode):
                raise RuntimeError(f"{path} is neither a file, a folder nor a link")
            os.utime(path, (epoch, epoch), follow_symlinks=False)
