"""A way to a service that breaks: the first connections are cut after so much of the answer has come through."""
import socket
import threading


class BreakingProxy:
    """
    `cuts`: for each connection, in their order, after how many bytes of the answer both ends are closed; the request has
    been passed on by then. Later connections hold.
    """

    def __init__(self, port, cuts):
        self.to, self.cuts = ("127.0.0.1", port), list(cuts)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            server = socket.create_connection(self.to)
            left = self.cuts.pop(0) if self.cuts else None
            threading.Thread(target=self.copy, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, left), daemon=True).start()

    def copy(self, source, target, left):
        try:
            while data := source.recv(65536):
                if left is not None and len(data) > left:
                    target.sendall(data[:left])
                    break
                target.sendall(data)
                left = None if left is None else left - len(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
