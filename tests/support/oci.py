"""Builds container images from tar members, honest and hostile: OCI layouts, OCI archives, archives of `docker save`.

A layer is a list of ``tarfile.TarInfo`` with their contents, so that a test can put anything into one that the format
can express, and some of what it forbids.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
MTIME = 1_700_000_000


def member(name, content=b"", *, kind=tarfile.REGTYPE, mode=None, link="", uid=0, gid=0, device=(0, 0)):
    """One member of a layer: a TarInfo and its content."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.uid, info.gid, info.mtime = kind, link, uid, gid, MTIME
    info.mode = mode if mode is not None else 0o755 if kind == tarfile.DIRTYPE else 0o644
    info.devmajor, info.devminor = device
    info.size = len(content)
    return info, content


def folder(name, mode=0o755):
    return member(name, kind=tarfile.DIRTYPE, mode=mode)


def symlink(name, target):
    return member(name, kind=tarfile.SYMTYPE, link=target, mode=0o777)


def hard_link(name, target):
    return member(name, kind=tarfile.LNKTYPE, link=target)


def device(name, block=False):
    """A node for the host's first disk, or for its memory."""
    kind, numbers = (tarfile.BLKTYPE, (8, 0)) if block else (tarfile.CHRTYPE, (1, 1))
    return member(name, kind=kind, mode=0o666, device=numbers)


def layer(*members):
    """The bytes of one layer, a tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return out.getvalue()


def layer_of_tree(*paths, root="/"):
    """The same, of files and folders of this machine; links are taken as they are."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in paths:
            archive.add(os.path.join(root, path.lstrip("/")), path.lstrip("/"))
    return out.getvalue()


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Image:
    """An image in the making: its layers, its configuration, and what is to be wrong with it."""

    def __init__(self, *layers, compress=False, **config):
        self.blobs = {}
        self.config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin", *config.pop("env", [])],
                       "WorkingDir": config.pop("working_dir", "/app"), "Labels": config.pop("labels", {})},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(content) for content in layers]},
            "history": [],
        }
        self.config.update(config)
        self.plain = layers
        self.layers = [self.add(gzip.compress(content, 1, mtime=0) if compress else content,
                                LAYER + ("+gzip" if compress else "")) for content in layers]
        self.manifests = []
        self.tag("latest")

    def add(self, content, media_type):
        """Adds a blob; returns its descriptor."""
        digest = digest_of(content)
        self.blobs[digest] = content
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def tag(self, name):
        """Adds the image, as it now is, to the index."""
        config = self.add(json.dumps(self.config).encode(), CONFIG)
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": self.layers}
        descriptor = self.add(json.dumps(manifest).encode(), MANIFEST)
        self.digest = descriptor["digest"]
        self.manifests.append({**descriptor, "annotations": {"org.opencontainers.image.ref.name": name}})

    def files(self):
        """The layout as {name: bytes}."""
        found = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
                 "index.json": json.dumps({"schemaVersion": 2, "manifests": self.manifests}).encode()}
        found |= {f"blobs/sha256/{digest.split(':')[1]}": content for digest, content in self.blobs.items()}
        return found

    def write_layout(self, path):
        for name, content in self.files().items():
            file = pathlib.Path(path) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return path

    def write_oci_archive(self, path, folders=("blobs", "blobs/sha256")):
        with tarfile.open(path, "w") as archive:
            for name in folders:
                archive.addfile(folder(name)[0])
            for name, content in self.files().items():
                archive.addfile(*_with_content(name, content))
        return path

    def write_docker_archive(self, path, tag="example:latest"):
        """As `docker save` writes it: layers as they are, with a manifest.json."""
        config = json.dumps(self.config).encode()
        name = hashlib.sha256(config).hexdigest() + ".json"
        layers = [f"{hashlib.sha256(content).hexdigest()}/layer.tar" for content in self.plain]
        manifest = json.dumps([{"Config": name, "RepoTags": [tag], "Layers": layers}]).encode()
        with tarfile.open(path, "w") as archive:
            archive.addfile(*_with_content(name, config))
            for layer_name, content in zip(layers, self.plain):
                archive.addfile(*_with_content(layer_name, content))
            archive.addfile(*_with_content("manifest.json", manifest))
        return path


def _with_content(name, content):
    info, content = member(name, content)
    return info, io.BytesIO(content)


def fake_python(name="usr/local/bin/python3.12"):
    """The least that passes for an interpreter until somebody runs it: an ELF file of this machine, and its library."""
    with open("/bin/true", "rb") as file:
        binary = file.read()
    version = name.rsplit("python", 1)[1]
    prefix = name.split("bin/")[0]
    interpreter = os.path.realpath("/lib64/ld-linux-x86-64.so.2")
    with open(interpreter, "rb") as file:
        loader = file.read()
    return [member(name, binary, mode=0o755), symlink(f"{name.rsplit('/', 1)[0]}/python3", name.rsplit("/", 1)[1]),
            member(f"{prefix}lib/python{version}/os.py", b"#\n"),
             member("lib64/ld-linux-x86-64.so.2", loader, mode=0o755)]


def host_python_layer():
    """A layer with a Python that runs: that of this machine, with its library and the shared libraries it needs."""
    python = pathlib.Path("/usr/bin/python3").resolve()
    version = python.name.removeprefix("python")
    library = pathlib.Path(f"/usr/lib/python{version}")
    needed = [python, *library.glob("lib-dynload/*.so")]
    linked = subprocess.run(["ldd", *needed], capture_output=True, text=True, check=True).stdout
    words = [word for line in linked.splitlines() for word in line.split()]
    found = {word for word in words if word.startswith("/") and not word.endswith(":")}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, dereference=True) as archive:
        archive.add(python, f"usr/local/bin/{python.name}")
        for path in sorted(found):
            archive.add(path, path.lstrip("/"))

        def wanted(info):
            skipped = ("/test", "/idlelib", "/lib2to3", "/__pycache__", f"/config-{version}", "/ensurepip")
            return None if any(part in info.name for part in skipped) else info

        archive.add(library, f"usr/local/lib/python{version}", filter=wanted)
        for info, content in (symlink("usr/local/bin/python3", python.name), symlink("usr/local/bin/python", "python3"),
                              folder("app"), folder("tmp", 0o1777)):
            archive.addfile(info)
    return out.getvalue()


def umoci_image(rootfs, layout, *, tag="latest"):
    """Has umoci pack a folder as an image, as a judge of what the import makes of other tools' images."""
    for words in (["init", "--layout", str(layout)], ["new", "--image", f"{layout}:{tag}"],
                  ["insert", "--image", f"{layout}:{tag}", "--rootless", str(rootfs), "/"]):
        subprocess.run(["umoci", *words], check=True, capture_output=True)
    shutil.rmtree(rootfs)
    return layout
