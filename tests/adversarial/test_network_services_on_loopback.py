"""The service's own port, and whatever else listens on the host's loopback."""
import socket
import threading

from support import unconfined


def test_out_of_reach(service):
    """The control connects from the same network namespace to the same two ports."""
    listener = socket.create_server(("127.0.0.1", 0))
    accepted = []

    def accept():
        while True:
            try:
                accepted.append(listener.accept())
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    code = f"""
        import socket
        for port in ({service.port}, {listener.getsockname()[1]}):
            for host in ("127.0.0.1", "localhost", "0.0.0.0", "::1", "::ffff:127.0.0.1", "127.1"):
                try:
                    socket.create_connection((host, port), 1).close(); print("connected")
                except OSError:
                    print("refused")
        """
    assert service.run(code).stdout == "refused\n" * 12
    assert accepted == []
    assert unconfined.run(code).count("connected") >= 4
    listener.close()
