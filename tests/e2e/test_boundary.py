"""The api process: unprivileged, jailed, and of no use to someone who takes it over."""
import os
import re
import stat
from pathlib import Path

from support import host, unconfined


def test_it_is_another_user_without_any_privilege(service):
    api = service.api
    assert 0 not in api.uids and 0 not in api.gids
    assert len(set(api.uids)) == 1 and len(set(api.gids)) == 1
    assert set(map(int, api.status["Groups"].split())) <= set(api.gids)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(api.status[name], 16) == 0, name
    assert api.status["NoNewPrivs"] == "1" and api.status["Seccomp"] == "2"


def test_each_of_its_threads_is_jailed(service):
    """The store's thread was there before the filter; what the first thread has given up, it must have given up too."""
    threads = service.api.threads
    assert sorted(threads) == ["sandboxd-api", "store-writer"]
    first = threads["sandboxd-api"]
    for name, thread in threads.items():
        for field in ("Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters"):
            assert thread[field] == first[field], (name, field)
        for field in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(thread[field], 16) == 0, (name, field)
        assert thread["NoNewPrivs"] == "1" and thread["Seccomp"] == "2"
    assert int(first["Seccomp_filters"]) >= 2
    for task in (service.api.proc / "task").iterdir():
        root = os.stat(task / "root")
        folder = os.stat(service.data_dir / "service")
        assert (root.st_dev, root.st_ino) == (folder.st_dev, folder.st_ino)
        limits = (task / "limits").read_text()
        assert re.search(r"Max processes +0 +0 ", limits), limits


def test_its_root_is_a_folder_of_its_own_in_the_data_folder(service):
    root = os.stat(service.api.proc / "root")
    folder = os.stat(service.data_dir / "service")
    assert (root.st_dev, root.st_ino) == (folder.st_dev, folder.st_ino)
    assert folder.st_uid == service.api.uids[0] and stat.S_IMODE(folder.st_mode) == 0o700


def test_it_holds_no_descriptor_of_the_spawner_s_files(service):
    for fd, target in service.api.descriptors.items():
        if target.startswith("/") and not target.startswith(("/dev/null", str(service.data_dir), str(service.log_path))):
            status = os.stat(service.api.proc / "fd" / str(fd))
            assert not stat.S_ISDIR(status.st_mode), f"a folder outside: {target}"


def test_private_files_of_the_data_folder_are_out_of_its_reach(service):
    """As the same user in the same root, with the control that the file can be read by root."""
    path = service.data_dir / "canary-private.txt"
    assert path.read_text().startswith("canary-")
    code = f"""
        import os
        os.chroot({str(service.data_dir)!r}); os.chdir("/")
        print(open("/canary-private.txt").read()[:7])
        os.setgroups([]); os.setresgid(*[{service.api.gids[0]}] * 3); os.setresuid(*[{service.api.uids[0]}] * 3)
        try:
            print("read", open("/canary-private.txt").read()[:7])
        except PermissionError:
            print("refused")
        """
    assert unconfined.run(code) == "canary-\nrefused\n"


def test_keys_are_kept_as_hashes(service):
    for path in service.data_dir.rglob("*"):
        if path.is_file() and "admin" not in path.name and not path.name.startswith("canary"):
            assert service.key.encode() not in path.read_bytes(), path


def test_its_environment_and_arguments_hold_no_secret(service):
    """What the operator gave the service in its environment is not handed on to the process that faces the network."""
    environment = (service.api.proc / "environ").read_bytes()
    arguments = (service.api.proc / "cmdline").read_bytes()
    secrets = [canary for canary in service.leaks.canaries if canary != service.key.encode()]
    assert len(secrets) >= 3
    assert any(secret in (service.spawner.proc / "environ").read_bytes() for secret in secrets), "the control"
    assert not any(secret in environment + arguments for secret in secrets)
    assert service.key.encode() not in arguments


def test_the_template_has_an_empty_environment_and_one_socket(service):
    template = service.template
    environment = (template.proc / "environ").read_bytes()
    assert not any(canary in environment for canary in service.leaks.canaries)
    descriptors = template.descriptors
    assert len(descriptors) <= 8, descriptors
    assert descriptors.pop(0) == "/dev/null" and {descriptors.pop(1), descriptors.pop(2)} == {str(service.log_path)}
    assert not any(target.startswith("/") and target != "/dev/null" for target in descriptors.values()), descriptors
    assert template.status["Seccomp"] == "2"
    assert template.status["Threads"] == "1"
    for kind in host.NAMESPACES:
        if kind != "cgroup":
            assert template.namespace(kind) != service.spawner.namespace(kind), kind


def test_the_template_has_no_privilege_over_the_host(service):
    """It keeps CAP_SYS_ADMIN, but in a user namespace of its own that maps no user of the host but its range."""
    template = service.template
    assert template.namespace("user") != os.readlink("/proc/self/ns/user")
    for line in (template.proc / "uid_map").read_text().splitlines():
        _, outside, count = map(int, line.split())
        assert service.uid_base <= outside and outside + count <= service.uid_base + 65536


def test_only_the_api_process_listens(service):
    """Of the two, the root process owns no network socket."""
    inodes = set()
    for name in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "packet"):
        path = Path("/proc", str(service.pid), "net", name)
        if path.exists():
            for line in path.read_text().splitlines()[1:]:
                inodes.add(line.split()[9 if name != "packet" else 8])
    def network_sockets(process):
        return [target for target in process.descriptors.values() if target.startswith("socket:[") and target[8:-1] in inodes]
    assert network_sockets(service.api), "the control"
    assert network_sockets(service.spawner) == []
    assert network_sockets(service.template) == []


def test_the_spawner_links_nothing_that_parses(service):
    maps = (service.spawner.proc / "maps").read_text()
    assert not [library for library in ("jansson", "microhttpd", "sqlite", "libpq", "libssl", "libcrypto", "libcurl") if library in maps]
    assert "microhttpd" in (service.api.proc / "maps").read_text(), "the control"
