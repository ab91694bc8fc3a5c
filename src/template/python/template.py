"""The fork server: everything imported and warm, one thread, forking into rooms on request.

Runs with the image's own interpreter in the outer user namespace. It never sees a request of a client, and nothing secret:
it was started with an empty environment and one descriptor, number 3, the spawner's socket. Its children return from
``_confine.serve`` as ordinary inhabitants of a room and go on in ``sandbox_runner``.
"""

import gc
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import _confine  # noqa: E402
import hot_pages  # noqa: E402
import sandbox_runner  # noqa: E402
import shared_heap  # noqa: E402

SPAWNER_FD = 3


def thread_count() -> int:
    return len(os.listdir("/proc/self/task"))


def main() -> None:
    shared_heap.gather()
    sandbox_runner.prepare()
    sandbox_runner.warm()
    shared_heap.settle()
    sandbox_runner.join_mappings()  # before the first fork: what children share is not joined any more
    ranges = hot_pages.profile(sandbox_runner.park, sandbox_runner.profile_workloads())
    gc.freeze()
    sandbox_runner.compact()  # halves the price of making a child and of taking it down

    # A lock held by another thread at the fork would stay locked in every child for ever.
    if thread_count() != 1:
        sys.exit(f"the template has {thread_count()} threads; it must have one to fork safely")

    _confine.start(SPAWNER_FD)
    claim_fd = _confine.serve()
    if claim_fd is None:
        os._exit(0)
    try:
        _confine.populate(ranges)
        sandbox_runner.park()
    except BaseException:
        _confine.failed()
    _confine.parked()
    sandbox_runner.serve(claim_fd)


main()
