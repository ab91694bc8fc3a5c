"""The runner of tool calls: reads what to do, runs the agent's function, says what came of it.

Runs in a room made from an agent's image, with the image's own Python (3.10 or newer) and nothing else, as the room's
only user, confined before it was executed. It is as little trusted as the code that it runs: the service bounds and
checks whatever it says. What it takes care of is that nobody gets in its way by accident. The channel to the service
is a descriptor of a number that nobody else can get, closed on exec and in forked children; what is printed goes
elsewhere.

Each call starts this file anew, and nothing of it is compiled beforehand, as no version of Python is known. So the
usual way through it is short and imports next to nothing; what is rarely needed lies in ``sandbox_call``.
"""

import os
import sys

CHANNEL_FD = 1024
FRAME_STARTED, FRAME_CALL, FRAME_CALL_END = 2, 6, 8
HEADER_BYTES = 8
CALL_BYTES_MAX = 2 << 20
HOME = "/home/nonroot"
LOADERS = ("LD_LIBRARY_PATH", "LD_PRELOAD")  # variables that only the start of a program reads
AGAIN_FD = 1023


class Channel:
    """The claim channel: one request comes in, and one answer goes out, from the process that was asked."""

    def __init__(self, fd):
        import _socket

        os.set_inheritable(fd, False)
        os.register_at_fork(after_in_child=self._forget)
        self._socket = _socket.socket(fileno=fd)
        self._flags = _socket.MSG_NOSIGNAL
        self._cloexec = _socket.MSG_CMSG_CLOEXEC

    def _forget(self):
        channel, self._socket = self._socket, None
        if channel is not None:
            channel.close()

    def receive(self):
        """Returns the request. The descriptor that came beside it becomes standard input."""
        head, ancillary, _, _ = self._socket.recvmsg(HEADER_BYTES, 64, self._cloexec)
        while head and len(head) < HEADER_BYTES:
            head += self._socket.recv(HEADER_BYTES - len(head)) or b"\0" * HEADER_BYTES
        kind, length = int.from_bytes(head[:4], "little"), int.from_bytes(head[4:8], "little")
        if kind != FRAME_CALL or length > CALL_BYTES_MAX or len(ancillary) != 1:
            os._exit(1)  # the service is gone, or speaks something else
        body = bytearray(length)
        view = memoryview(body)
        while view:
            got = self._socket.recv_into(view)
            if got == 0:
                os._exit(1)
            view = view[got:]
        stdin = int.from_bytes(ancillary[0][2][:4], "little")
        os.dup2(stdin, 0)
        os.close(stdin)
        return bytes(body)

    def send(self, kind, payload=b""):
        if self._socket is not None:
            frame = kind.to_bytes(4, "little") + len(payload).to_bytes(4, "little") + payload
            self._socket.sendall(frame, self._flags)

    @property
    def is_ours(self):
        return self._socket is not None


def read_again():
    """What the runner had received before it started itself again."""
    with open(AGAIN_FD, "rb") as file:
        return file.read()


def start_again(body, environment):
    """For libraries that the image expects to be found, or loaded, by the loader."""
    file = os.memfd_create("request")
    os.write(file, body)
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, AGAIN_FD)
    os.set_inheritable(CHANNEL_FD, True)
    os.execve(sys.executable, [sys.executable, "-I", "-B", __file__, "again"], {**os.environ, **environment})


def settle(request):
    """Makes the process what the image and the call say: environment, folder, where modules are found."""
    os.environ.update(request.get("environment") or {})
    os.environ["HOME"] = HOME  # the one that can be written to
    folder = request.get("working_dir") or "/"
    os.chdir(folder)
    # As `python -m` would have it in this folder. -I has kept the interpreter from reading any of it.
    paths = [folder] + [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    sys.path[:] = [path for path in paths if path not in sys.path] + sys.path
    sys.argv[:] = [""]


def find(entrypoint):
    """module:function, or module:Class.function."""
    module_name, _, path = entrypoint.partition(":")
    __import__(module_name)
    found = sys.modules[module_name]
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise LookupError(f"{module_name} has no {path}") from None
    return found


def call(request):
    """Returns the result. Whatever the agent's code raises goes through."""
    function = find(request["entrypoint"])
    arguments = request.get("arguments") or {}
    package = sys.modules.get("code_sandbox")  # if the agent's code uses it, values are mapped as it says
    if package is None:
        result = function(**arguments)
    else:
        from code_sandbox import _inside, _values

        _inside.enter()
        positional, named = _values.decode_arguments(function, arguments)
        result = function(*positional, **named)
    if hasattr(type(result), "__await__"):
        from sandbox_call.awaiting import wait_for

        result = wait_for(result)
    if package is not None:
        result = _values.encode_result(result)
    return result


def describe(problem, dumps):
    """FRAME_CALL_END for an exception."""
    try:
        from sandbox_call.failure import describe

        return describe(problem)
    except BaseException:  # whatever the agent's code has done to the interpreter
        error = {"type": type(problem).__name__, "message": "(it cannot be told)", "traceback": "", "builtin": False}
        return dumps({"error": error})


def work(request, values, dumps):
    """Returns the payload of FRAME_CALL_END, and the exit status."""
    try:
        settle(request)
        if "discover" in request:
            from sandbox_call.discovery import discover

            return dumps(discover(request["discover"], os.getcwd())), 0
        result = call(request)
        values.check(result)
        return b'{"result":' + values.bounded(dumps(result)) + b"}", 0
    except BaseException as problem:  # SystemExit as well: the function has not returned
        return describe(problem, dumps), 1


def flush():
    """What was printed comes before the answer: that of Python, and that of libraries which print with C's stdio."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, replaced, or nobody reads
            pass
    try:
        if any(may_print_with_c(module) for module in list(sys.modules.values())):
            import _ctypes

            _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "fflush"), (0,))
    except Exception:  # an interpreter without ctypes
        pass


def may_print_with_c(module):
    """Nothing of the standard library does, but for what ctypes calls."""
    file = getattr(module, "__file__", None)
    return type(file) is str and file.endswith(".so") and ("/lib-dynload/" not in file or "_ctypes" in file)


def main():
    channel = Channel(CHANNEL_FD)
    sys.path.insert(0, os.path.dirname(__file__))
    from sandbox_call import fast_json, values  # its other parts are found from here on, whatever becomes of the path

    del sys.path[0]
    again = sys.argv[1:] == ["again"]
    body = read_again() if again else channel.receive()
    request = fast_json.loads(body)
    for_loader = {name: value for name, value in (request.get("environment") or {}).items() if name in LOADERS}
    if for_loader and not again:
        start_again(body, for_loader)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # what was printed before the time was over is not to be lost
    channel.send(FRAME_STARTED)
    answer, status = work(request, values, fast_json.dumps)
    flush()
    if channel.is_ours:  # a function that has forked returns twice
        channel.send(FRAME_CALL_END, answer)
    # The call is over: nobody waits for threads that are still at work.
    os._exit(status)


if __name__ == "__main__":
    main()
