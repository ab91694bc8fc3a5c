"""Random state and names that all children of one template would otherwise share.

``random``, ``secrets``, ``uuid`` and new numpy generators draw from the system or reseed at a fork by themselves. What
does not: numpy's global state (``numpy.random.seed`` and scikit-learn's ``random_state=None``), generators that some
module made when it was imported, multiprocessing's key, and OpenSSL, which recognises a fork by its process ID: in PID
namespaces of their own, children may have their parent's. Hashes of strings stay the same for one template; it is
renewed regularly.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import gc
import os
import random

from .guard import MODULES

_generators = []  # functions that reseed one


def find_generators() -> None:
    """Looks through the template's heap for generators. Call once, when everything is imported."""
    _generators.clear()
    numpy_random = MODULES.get("numpy.random")
    for thing in gc.get_objects():
        if isinstance(thing, random.Random) and not isinstance(thing, random.SystemRandom):
            _generators.append(thing.seed)
        elif numpy_random is None:
            continue
        elif isinstance(thing, numpy_random.RandomState):
            _generators.append(thing.seed)
        elif isinstance(thing, numpy_random.Generator):
            _generators.append(_renewer(thing.bit_generator))
    if numpy_random is not None and numpy_random.mtrand._rand.seed not in _generators:
        _generators.append(numpy_random.mtrand._rand.seed)


def _renewer(bits):
    def renew():
        bits.state = type(bits)().state

    return renew


def reseed() -> None:
    for renew in _generators:
        renew()
    process = MODULES.get("multiprocessing.process")
    if process is not None:
        process.current_process()._config["authkey"] = process.AuthenticationString(os.urandom(32))
    ssl = MODULES.get("_ssl")
    if ssl is not None:
        ssl.RAND_add(os.urandom(32), 32.0)


def forget_names() -> None:
    """Puts back what decides about names: of temporary files, threads, processes. Call once, in the template."""
    import concurrent.futures.thread
    import itertools
    import multiprocessing.context
    import multiprocessing.process
    import tempfile
    import threading
    import uuid

    tempfile.tempdir = None
    tempfile._name_sequence = None
    threading._counter = itertools.count(1).__next__
    concurrent.futures.thread.ThreadPoolExecutor._counter = itertools.count().__next__
    multiprocessing.process._process_counter = itertools.count(1)
    multiprocessing.context._default_context._actual_context = None  # no start method is chosen yet
    uuid._node = uuid._last_timestamp = None
