"""Images of agents for tests: the product image's Python, and an agent's files on top."""

import os
import tarfile
from pathlib import Path

from support import oci

BUILD = Path(os.environ.get("SANDBOX_BUILD_DIR", Path(__file__).resolve().parents[2] / "build"))
LEFT_OUT = {"site-packages", "dist-packages", "share", "test", "idlelib", "tkinter", "ensurepip", "lib2to3"}


def rootfs():
    image = os.environ.get("SANDBOX_IMAGE")
    return (Path(image).parent / "rootfs" if image else BUILD / "image" / "rootfs").resolve()


def _python():
    """The layer that all of them share."""
    import io

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(rootfs(), "", filter=lambda info: None if LEFT_OUT & set(info.name.split("/")) else info)
    return out.getvalue()


_shared = []
AUTHORS = Path(__file__).resolve().parents[2] / "python" / "code_sandbox"
LIBRARIES = "/usr/local/lib/agent"


def image(files, **config):
    """`files`: {path: text}. Further arguments as of oci.Image: env, working_dir …"""
    if not _shared:
        _shared.append(_python())
    members = [oci.member(name.lstrip("/"), text.encode()) for name, text in files.items()]
    return oci.Image(_shared[0], oci.layer(*members), **config)


def agent(files, *, env=(), **config):
    """The same, with the package for agent authors."""
    package = {f"{LIBRARIES}/code_sandbox/{path.name}": path.read_text() for path in AUTHORS.glob("*.py")}
    return image({**files, **package}, env=[f"PYTHONPATH={LIBRARIES}", *env], **config)
