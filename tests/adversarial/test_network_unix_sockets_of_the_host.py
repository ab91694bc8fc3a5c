"""Unix sockets of the host by their paths and abstract names: Docker, D-Bus, systemd, and one that this test opens."""
import socket
import threading

from support import unconfined


def test_out_of_reach(service, tmp_path):
    path, name = tmp_path / "host.sock", "sandbox-test-abstract"
    servers = []
    for address in (str(path), "\0" + name):
        server = socket.socket(socket.AF_UNIX)
        server.bind(address)
        server.listen()
        servers.append(server)
    path.chmod(0o777)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    code = f"""
        import socket
        for address in ({str(path)!r}, "\\0" + {name!r}, "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
                        "/run/systemd/journal/socket", "/dev/log", "/var/run/nscd/socket", "\\0/tmp/.X11-unix/X0"):
            try:
                socket.socket(socket.AF_UNIX).connect(address); print("connected")
            except OSError:
                print("refused")
        """
    threads = [threading.Thread(target=server.accept, daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    assert service.run(code).stdout == "refused\n" * 10
    assert all(thread.is_alive() for thread in threads), "nobody was accepted"
    assert unconfined.run(code).startswith("connected\nconnected\n"), "the control"
    for server in servers:
        server.close()
