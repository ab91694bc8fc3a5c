"""Makes the template's heap one that children use without copying it; see shared_heap_module.c.

Runs in the template, once: ``gather`` before anything large is imported, ``settle`` after everything is imported and
warm, before the first fork. What is allocated later is ordinary: a snippet's own objects are counted, destroyed and
collected as ever.
"""

import gc
import sys
import types

import _shared_heap

# Those whose immortal objects are marked as _shared_heap does it, in the build with a global lock.
KNOWN_VERSIONS = ((3, 12), (3, 13))


def gather() -> None:
    _shared_heap.gather_arenas()


def settle() -> None:
    # A collection in a child would write to every object's header and so copy the whole heap: 2 ms instead of 690 ms.
    gc.collect()
    if sys.version_info[:2] in KNOWN_VERSIONS and "t" not in sys.abiflags and sys.maxsize == 2**63 - 1:
        _shared_heap.immortalise(gc.get_objects() + _all_types(), types.CodeType)
    _shared_heap.fill_gaps()
    gc.freeze()


def _all_types() -> list:
    """Built-in types are not among the collector's objects."""
    found, new = {object}, [object]
    while new:
        below = set(type.__subclasses__(new.pop())) - found
        found |= below
        new += below
    return list(found)
