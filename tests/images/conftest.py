"""Images are built in a folder of the test, and imported by the program on its own."""

import pytest

from images.harness import Import, Mounted
from support import oci


@pytest.fixture
def imported(private_network, tmp_path):
    """Imports one image as an archive; everything it made is gone afterwards."""
    made = []

    def run(image, kind="oci-archive", **request):
        path = tmp_path / f"{len(made)}.tar"
        (image.write_docker_archive if kind == "docker-archive" else image.write_oci_archive)(path)
        made.append(Import(kind, path, **request))
        return made[-1]

    yield run
    for one in made:
        one.close()


@pytest.fixture
def tree(imported):
    """The same, down to the files in the packed image: a context manager."""

    def run(*layers, **config):
        result = imported(oci.Image(*layers, **config))
        assert result.image, result.error
        return Mounted(result.folder / "image.erofs")

    return run
