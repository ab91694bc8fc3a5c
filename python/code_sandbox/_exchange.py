"""One request and its answer: errors as exceptions, and trying again where that is safe.

Trying again is safe when nothing has run: the service says so by 429 and 503, or the connection never came about. Once
a request that runs something has been sent and its answer is lost, it may have run, and only an Idempotency-Key makes a
second try safe; and that only with a service that says it heeds one.
"""

from __future__ import annotations

import contextvars
import email.utils
import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Generic, TypeVar

from ._errors import ApiError, ConnectionFailed
from ._http import Cancellation, Response, Stream, Transport

T = TypeVar("T")

REQUEST_SECONDS = 60.0  # the longest silence where nothing runs
RUN_SECONDS = 240.0  # the longest run, and the longest wait for a place before it
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0


@dataclass(frozen=True)
class Request(Generic[T]):
    method: str
    path: str
    parse: Callable[[Response], T]
    body: bytes | IO[bytes] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True  # asking twice is as good as once
    seconds: float = REQUEST_SECONDS


@dataclass(frozen=True)
class Retries:
    """How long to go on trying. `seconds` bounds the pauses together; 0 tries once."""

    seconds: float = 30.0
    lost_connections: int = 2


def _seconds(text: str) -> float | None:
    """What Retry-After says: seconds, as of the service, or a date, as proxies may send it."""
    try:
        date = email.utils.parsedate_tz(text)
        return max(0.0, email.utils.mktime_tz(date) - time.time() if date else float(text))
    except (ValueError, OverflowError):
        return None


def error_of(response: Response) -> ApiError:
    """The body of an error, or what can be said of an answer that is none of the service's own."""
    try:
        error = json.loads(response.body)["error"]
        kind, message, param = str(error["type"]), str(error["message"]), error.get("param")
    except (ValueError, KeyError, TypeError, AttributeError):
        text = response.body[:200].decode("utf-8", "replace").strip()
        kind, message, param = "unexpected", f"This is no answer of a Code Sandbox: {text!r}", None
        if 300 <= response.status < 400:
            message = (
                f"The service sends elsewhere ({response.headers.get('Location')!r}), which is not followed: use "
                "the address where it really is."
            )
    return ApiError(
        response.status,
        kind,
        message,
        None if param is None else str(param),
        _seconds(response.headers.get("Retry-After") or ""),
        response.headers.get("X-Request-Id"),
    )


def parse_json(response: Response) -> Any:
    try:
        return json.loads(response.body)
    except ValueError:
        raise ApiError(response.status, "unexpected", "This is no answer of a Code Sandbox: it is not JSON.") from None


def _nothing_ran(error: ApiError) -> bool:
    """
    The service's own words for "not now". A 503 without them may be of a proxy, which may have passed the request on.
    Other kinds of 429 (sessions, quota) do not pass by waiting for a moment.
    """
    return error.status in (429, 503) and error.type in ("rate_limited", "overloaded")


class Group:
    """What a function asks of the service, to be given up together: it runs in a thread, which cannot be stopped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: list[Cancellation] = []
        self._cancelled = False

    def add(self, member: Cancellation) -> None:
        with self._lock:
            self._members.append(member)
            too_late = self._cancelled
        if too_late:
            member.cancel()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            members = list(self._members)
        for member in members:
            member.cancel()


group: contextvars.ContextVar[Group | None] = contextvars.ContextVar("code_sandbox_group", default=None)


class Exchange:
    """Tries of one request. Give one to each; cancel() may come from another thread."""

    def __init__(self, transport: Transport, retries: Retries, heeds_keys: Callable[[], bool] = lambda: False) -> None:
        self._transport = transport
        self._retries = retries
        self._heeds_keys = heeds_keys
        self.cancellation = Cancellation()
        if together := group.get():
            together.add(self.cancellation)
        self._paused = 0.0
        self._lost = 0
        self._tries = 0

    def _pause_for(self, error: ApiError | ConnectionFailed, request: Request[Any]) -> float | None:
        """Seconds until the next try; None if there must not be one."""
        growing = min(LONGEST_PAUSE, FIRST_PAUSE * 2**self._tries) * random.uniform(0.75, 1.25)
        if isinstance(error, ApiError):
            if not _nothing_ran(error) and not (error.status == 503 and request.repeatable):
                return None
            pause = growing if error.retry_after is None else max(error.retry_after, growing)
        else:
            self._lost += 1
            if self._lost > self._retries.lost_connections:
                return None
            if error.may_have_run and not self._safe_twice(request):
                return None
            pause = growing
        return pause if self._paused + pause <= self._retries.seconds else None

    def _safe_twice(self, request: Request[Any]) -> bool:
        return request.repeatable or ("Idempotency-Key" in request.headers and self._heeds_keys())

    def _try(self, request: Request[Any]) -> Stream:
        if self.cancellation.cancelled:
            raise ConnectionFailed("The request was cancelled.", self._tries > 0)
        if self._tries and hasattr(request.body, "seek"):
            request.body.seek(0)  # type: ignore[union-attr]
        stream = self._transport.open(
            request.method, request.path, request.body, request.headers, request.seconds, self.cancellation
        )
        if 200 <= stream.status < 300:
            return stream
        raise error_of(Response(stream.status, stream.headers, stream.read()))

    def _rest(self, error: ApiError | ConnectionFailed, request: Request[Any]) -> None:
        """Until the next try; raises the error if there must not be one."""
        pause = None if self.cancellation.cancelled else self._pause_for(error, request)
        if pause is None:
            raise error
        self._tries += 1
        self._paused += pause
        self.cancellation.wait(pause)

    def open(self, request: Request[Any]) -> Stream:
        """The beginning of a good answer."""
        while True:
            try:
                return self._try(request)
            except (ApiError, ConnectionFailed) as error:
                self._rest(error, request)

    def again(self, request: Request[Any], lost: ConnectionFailed) -> Stream:
        """The same once more: the rest of an answer was lost. Raises that if there must not be another try."""
        self._rest(lost, request)
        return self.open(request)

    def run(self, request: Request[T]) -> T:
        stream = self.open(request)
        while True:
            try:
                return request.parse(Response(stream.status, stream.headers, stream.read()))
            except ConnectionFailed as error:  # it was lost in the middle of a good answer
                stream = self.again(request, error)
