"""Bombs and polyglots: contents come back byte for byte, and nobody on the way unpacks, renders or believes them."""
import hashlib


def test_untouched(service):
    reply = service.run("""
        import gzip, hashlib, json, io, zipfile, zlib
        zeros = bytes(100 << 20)
        contents = {"bomb.gz": gzip.compress(zeros, 9), "page.html": b"<script>fetch('//evil')</script>", "image.svg": b"<svg onload='alert(1)' xmlns='http://www.w3.org/2000/svg'/>",
                    "formula.csv": b'=cmd|"/C calc"!A0,@SUM(1),+1,-1\\r\\n', "gif-and-script.gif": b"GIF89a/*" + bytes(10) + b"*/=alert(1)", "lies.png": b"%PDF-1.4 not a picture",
                    "laughs.xml": b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><l>&b;</l>', "deep.json": b"[" * 100000, "utf7.html": b"+ADw-script+AD4-alert(1)"}
        del zeros
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("../../etc/cron.d/x", "x"); archive.writestr("/abs", "y"); archive.writestr("bomb", bytes(20 << 20))
        contents["slip.zip"] = buffer.getvalue()
        for name, content in contents.items():
            open(name, "wb").write(content)
        print(json.dumps({name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}))
        """)
    assert {name: hashlib.sha256(content).hexdigest() for name, content in reply.contents.items()} == reply.printed
    assert service.api.resident_bytes < 300 << 20


def test_types_come_from_names_not_from_contents(service):
    reply = service.run("""
        open("a.txt", "w").write("<html><script>1</script>"); open("b", "wb").write(b"\\x89PNG\\r\\n\\x1a\\n"); open("c.csv", "w").write("<svg/>")
        """)
    types = {file["name"]: file["media_type"].split(";")[0] for file in reply.files}
    assert types == {"a.txt": "text/plain", "b": "application/octet-stream", "c.csv": "text/csv"}
