"""An agent's image as an import makes it, for tests without one: the product image's Python, and an agent's files."""

import os
import pathlib
import shutil
import subprocess

from boundary.harness import BUILD

ROOTFS = BUILD / "image" / "rootfs"
LEFT_OUT = {"site-packages", "dist-packages", "share", "test"}


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target, follow_symlinks=False)


def make(folder: pathlib.Path, target: pathlib.Path, files: dict[str, str | pathlib.Path], python: str = "/usr/local/bin/python3",
         bare: bool = False) -> None:
    """
    Packs it as `target`. Names of files are paths from the image's root; a Path is where a link leads. A
    bare one has nothing else.
    """
    tree = folder / "tree"
    if bare:
        for name in ("proc", "dev", "tmp", "mnt/data", "home/nonroot", "opt/sandbox", "usr"):
            (tree / name).mkdir(parents=True)
        (tree / "etc").mkdir()
        (tree / "etc" / "passwd").write_text("nonroot:x:65532:65532::/home/nonroot:/bin/sh\n")
    else:
        shutil.copytree(ROOTFS, tree, symlinks=True, copy_function=_link, ignore=lambda _, names: LEFT_OUT & set(names))
    (tree / ".sandbox").mkdir()
    os.symlink(python, tree / ".sandbox" / "python")
    for name, content in files.items():
        path = tree / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # it may be a link to the original
        if isinstance(content, pathlib.Path):
            path.symlink_to(content)
        else:
            path.write_text(content)
            path.chmod(0o755)
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mkfs.erofs", "--quiet", "--all-root", target, tree], check=True, capture_output=True)
    shutil.rmtree(tree)
