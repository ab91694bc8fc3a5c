"""CVE-2022-0847 ("dirty pipe"): splicing a page of a read-only file into a pipe and writing over it. Sandboxes share the
page cache of the image, so that this would change everybody's interpreter. splice, tee and vmsplice are not there."""
import json

from support import features, syscalls, unconfined

CODE = syscalls.PRELUDE + """
r, w = os.pipe()
fd = os.open("/etc/passwd", os.O_RDONLY)
offset = ctypes.c_longlong(1)
outcome = {"splice": call(275, fd, ctypes.byref(offset), w, 0, 1, 0), "tee": call(276, r, w, 1, 2), "vmsplice": call(278, w, struct.pack("=QQ", id(b""), 1), 1, 0)}
os.write(w, b"DIRTY")
print(json.dumps([outcome, "DIRTY" in open("/etc/passwd").read()]))
"""


def test_refused(service):
    features.need_x86_64()
    assert service.execute(CODE).printed == [{"splice": "ENOSYS", "tee": "ENOSYS", "vmsplice": "ENOSYS"}, False]
    outcome, dirty = json.loads(unconfined.run(CODE))
    assert outcome["splice"] == "ok" and not dirty, "the control"
    assert "DIRTY" not in service.run("print(open('/etc/passwd').read())").stdout


def test_copying_works_by_other_calls(service):
    reply = service.run("""
        import os, shutil
        open("a", "w").write("x" * 100000); shutil.copyfile("a", "b")
        with open("a", "rb") as a, open("c", "wb") as c:
            os.sendfile(c.fileno(), a.fileno(), 0, 100000)
        print(os.path.getsize("b"), os.path.getsize("c"))
        """)
    assert reply.stdout == "100000 100000\n"
