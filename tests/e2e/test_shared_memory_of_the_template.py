"""What a sandbox shares with its template, and what is its own: counted in pages and bytes, never in time."""
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))

import accounting  # noqa: E402

MIB = 1 << 20
IMMORTAL = 1 << 31

FAULTS = """
import resource

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
"""


def test_a_parked_sandbox_has_little_memory_of_its_own(service):
    service.wait_pool()
    rooms = service.rooms().values()
    assert rooms
    for room in rooms:
        assert 1 * MIB < accounting.private_bytes(room) <= 15e6
        assert accounting.cgroup_memory_bytes(room[0]) <= 15e6


def test_looking_at_what_is_imported_copies_nothing(service):
    """Every object of the library is touched. If that wrote to reference counts, thousands of pages would be copied."""
    printed = service.run(FAULTS + """
import sys
import pandas, scipy.stats, sympy
modules = list(sys.modules.values())
before = faults()
touched = 0
for module in modules:
    for name, value in list(vars(module).items()):
        kept = value
        touched += 1
print([touched, faults() - before])
""").printed
    touched, copied = printed
    assert touched > 20_000
    assert copied < 600


def test_a_small_describe_finds_its_pages_in_place(service):
    """The pages that it writes to were made the sandbox's own while it was parked."""
    copied = service.run(FAULTS + """
import pandas
before = faults()
frame = pandas.DataFrame({"a": range(50), "b": [n * 0.5 for n in range(50)], "c": list("xy") * 25})
frame.describe().to_string()
print(faults() - before)
""").printed
    assert copied < 250


def test_objects_of_the_template_are_immortal_and_those_of_a_snippet_are_not(service):
    printed = service.run("""
        import json, sys
        import pandas

        class Mine:
            def __del__(self):
                ended.append(1)

        ended = []
        mine = Mine()
        counted = sys.getrefcount(mine)
        del mine
        print(json.dumps([sys.getrefcount(pandas.DataFrame), sys.getrefcount(pandas), counted, len(ended)]))
        """).printed
    assert printed[0] > IMMORTAL and printed[1] > IMMORTAL
    assert printed[2:] == [2, 1]


def test_cycles_of_a_snippet_are_collected(service):
    assert service.run("""
        import gc

        class Mine:
            pass

        gc.collect()
        for _ in range(10):
            mine = Mine()
            mine.itself = mine
        del mine
        print(gc.collect() >= 10)
        """).stdout == "True\n"


def test_a_library_has_one_mapping_for_what_is_fixed_and_one_for_what_it_writes(service):
    """A fork and an end go through all mappings; the linker makes five for each of three hundred libraries."""
    libraries, fixed, wrong = service.run("""
maps = [line.split(maxsplit=5) for line in open("/proc/self/maps")]
libraries = {fields[5] for fields in maps if len(fields) > 5 and ".so" in fields[5]}
fixed = [fields for fields in maps if len(fields) > 5 and ".so" in fields[5] and fields[1][1] == "-" != fields[1][0]]
print([len(libraries), len(fixed), [fields for fields in maps if fields[1].startswith("rwx")]])
""").printed
    assert libraries > 200
    assert libraries <= fixed <= 1.1 * libraries
    assert wrong == [], "nothing is writable and executable"
