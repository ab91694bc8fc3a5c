"""HTTP to the service: connections that are used again, certificates that are checked, and honesty about what was sent.

One Transport may be used by many threads. Redirects are not followed, because the key would go with them. A request
that is cancelled, from whichever thread, has its connection closed, which ends the run in the service.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import http.client
import select
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

from ._errors import ConnectionFailed

CONNECT_SECONDS = 10
IDLE_SECONDS = 30.0  # the service closes a connection that was idle for 75
IDLE_CONNECTIONS = 16
REPLY_BYTES_MAX = 256 << 20  # files, results and output of a run, in base64, are below 64 MiB


class Response(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Cancellation:
    """Stands for one request that may have to be given up. Safe to use from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._event = threading.Event()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        with self._lock:
            self._event.set()
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it

    def wait(self, seconds: float) -> None:
        """Sleeps, but not on when cancelled."""
        self._event.wait(seconds)

    def watch(self, sock: socket.socket | None) -> None:
        with self._lock:
            self._socket = sock
        if sock is not None and self.cancelled:
            self.cancel()


class Stream:
    """A reply that is read as it comes. To close it before its end ends the run."""

    def __init__(
        self,
        transport: Transport,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
        cancellation: Cancellation,
    ) -> None:
        self._transport = transport
        self._connection = connection
        self._response = response
        self._cancellation = cancellation
        self.status = response.status
        self.headers = response.headers

    def read(self) -> bytes:
        try:
            body = self._response.read(REPLY_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            raise self._lost(problem) from problem
        except BaseException:
            self.close()
            raise
        if not body and self._response.length is None and not self._response.chunked:
            self.close()  # its head has broken off, which http.client takes for its end
            raise self._lost(ConnectionError("it ends before its body"))
        missing = self._response.length or 0  # of what the head had promised; http.client does not mind
        if len(body) <= REPLY_BYTES_MAX and missing > 0:
            self.close()
            raise self._lost(ConnectionError(f"{missing} bytes of it are missing"))
        if len(body) > REPLY_BYTES_MAX:
            self.close()
            raise ConnectionFailed(
                f"The answer is longer than {REPLY_BYTES_MAX >> 20} MiB; no answer of the service is.", True
            )
        self._finish()
        return body

    def line(self) -> bytes:
        """With its end; b"" when the reply is over."""
        try:
            line = self._response.readline()
        except (OSError, http.client.HTTPException, AttributeError, ValueError) as problem:  # the latter two: closed
            raise self._lost(problem) from problem
        if not line:
            self._finish()
        return line

    def _lost(self, problem: BaseException) -> ConnectionFailed:
        return ConnectionFailed(
            f"The connection to {self._transport.address} was lost while the answer came: {_words(problem)}.", True
        )

    def _finish(self) -> None:
        self._cancellation.watch(None)
        if self._response.isclosed() and not self._response.will_close and not self._cancellation.cancelled:
            self._transport.give_back(self._connection)
        else:
            self._connection.close()

    def close(self) -> None:
        if not self._response.isclosed():
            self._response.close()
            self._connection.close()
        self._cancellation.watch(None)


class _Idle(NamedTuple):
    connection: http.client.HTTPConnection
    since: float


class Transport:
    def __init__(
        self, url: str, key: str, project: str | None = None, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"The address of the service must be like https://sandbox.example.org, not {url[:200]!r}.")
        if parts.username is not None:
            raise ValueError("The address of the service must not contain a user or a key; the key is given by itself.")
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("The key must be one word of printable ASCII, as the service has given it.")
        self.address = f"{parts.scheme}://{parts.netloc}"
        self._host, self._tls = parts.hostname, parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 80)
        self._base = parts.path.rstrip("/")
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json, text/event-stream;q=0.9, */*;q=0.1",
            "User-Agent": "code-sandbox-python",
        }
        if project is not None:
            self._headers["X-Project"] = project
        self._context = ssl_context or (ssl.create_default_context() if self._tls else None)
        self._idle: collections.deque[_Idle] = collections.deque()
        self._lock = threading.Lock()

    # ---- connections

    def _take_idle(self) -> http.client.HTTPConnection | None:
        """The one that was used last. One that the service has closed can be read from; it is of no use."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection, since = self._idle.pop()
            if time.monotonic() - since < IDLE_SECONDS and connection.sock and not _readable(connection.sock):
                return connection
            connection.close()

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._idle.append(_Idle(connection, time.monotonic()))
            surplus = self._idle.popleft() if len(self._idle) > IDLE_CONNECTIONS else None
        if surplus:
            surplus.connection.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, collections.deque()
        for entry in idle:
            entry.connection.close()

    def _proxy(self) -> urllib.parse.SplitResult | None:
        """What the environment names (HTTPS_PROXY and so on), but never for this machine itself."""
        if self._host == "localhost" or self._host == "::1" or self._host.startswith("127."):
            return None
        found = urllib.request.getproxies().get("https" if self._tls else "http")
        if not found or urllib.request.proxy_bypass(self._host):
            return None
        return urllib.parse.urlsplit(found if "://" in found else f"http://{found}")

    def _connect(self, cancellation: Cancellation) -> http.client.HTTPConnection:
        proxy = self._proxy()
        host, port = (proxy.hostname or "", proxy.port or 80) if proxy else (self._host, self._port)
        connection: http.client.HTTPConnection
        if self._tls:
            connection = http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=self._context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        if proxy and self._tls:
            connection.set_tunnel(self._host, self._port, _proxy_headers(proxy))
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise ConnectionFailed(
                f"No service can be reached at {self.address}: {_words(problem)}.", False
            ) from problem
        cancellation.watch(connection.sock)
        return connection

    def _target(self, path: str) -> tuple[str, dict[str, str]]:
        """A proxy for plain HTTP wants the whole address."""
        proxy = None if self._tls else self._proxy()
        if proxy:
            return f"{self.address}{self._base}{path}", _proxy_headers(proxy)
        return self._base + path, {}

    # ---- requests

    def open(
        self,
        method: str,
        path: str,
        body: bytes | IO[bytes] | None,
        headers: Mapping[str, str],
        seconds: float,
        cancellation: Cancellation,
    ) -> Stream:
        """Sends a request and waits for the head of its answer; `seconds` is the longest silence."""
        connection = self._take_idle() or self._connect(cancellation)
        assert connection.sock is not None
        cancellation.watch(connection.sock)
        target, extra = self._target(path)
        sent = False
        try:
            connection.sock.settimeout(seconds)
            sent = True  # from the first byte on, nobody knows how much arrives
            connection.request(method, target, body=body, headers={**self._headers, **headers, **extra})
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as problem:
            cancellation.watch(None)
            connection.close()
            words = (
                f"did not answer within {seconds:g} s"
                if isinstance(problem, TimeoutError)
                else f"went away: {_words(problem)}"
            )
            raise ConnectionFailed(f"The service at {self.address} {words}.", sent) from problem
        except BaseException:  # Ctrl-C: the run ends with the connection, which a traceback may keep for long
            cancellation.watch(None)
            connection.close()
            raise
        return Stream(self, connection, response, cancellation)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | IO[bytes] | None,
        headers: Mapping[str, str],
        seconds: float,
        cancellation: Cancellation,
    ) -> Response:
        stream = self.open(method, path, body, headers, seconds, cancellation)
        return Response(stream.status, stream.headers, stream.read())


def _readable(sock: socket.socket) -> bool:
    try:
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return True
    except AttributeError:  # a system without poll
        return bool(select.select([sock], [], [], 0)[0])


def _proxy_headers(proxy: urllib.parse.SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode("ascii")}


def _words(problem: BaseException) -> str:
    """An error in words; some have none."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({problem.verify_message})"
    text = getattr(problem, "strerror", None) or str(problem)
    return str(text) or type(problem).__name__


def quote(name: Any) -> str:
    """One part of a path."""
    return urllib.parse.quote(str(name), safe="")
