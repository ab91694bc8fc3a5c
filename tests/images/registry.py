"""A registry of images for tests, honest and not: ``registry.py ADDRESS[:PORT] CERTIFICATE IMAGES``.

IMAGES is a folder of OCI layouts, by name. What comes after the last hyphen of a name is how it misbehaves. Runs in the
network namespace that stands for the internet.
"""

import json
import os
import pathlib
import socket
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = os.urandom(1 << 20)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, content=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_GET(self):
        parts = self.path.split("/")[2:]  # after /v2
        if parts == [""]:
            return self.answer(200, b"{}")
        *name, kind, reference = parts
        layout = pathlib.Path(sys.argv[3]) / name[-1]
        if not layout.is_dir():
            return self.answer(404, b'{"errors": [{"code": "NAME_UNKNOWN", "message": "there is no such image"}]}')
        if kind == "manifests" and reference == "gone":
            return self.answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "there is no such tag"}]}')
        if kind == "manifests" and not reference.startswith("sha256:"):
            reference = json.loads((layout / "index.json").read_text())["manifests"][0]["digest"]
        blob = layout / "blobs" / "sha256" / reference.removeprefix("sha256:")
        if not blob.exists():
            return self.answer(404, b'{"errors": [{"code": "BLOB_UNKNOWN", "message": "there is no such blob"}]}')
        content = blob.read_bytes()
        if kind == "manifests":
            return self.answer(200, content, json.loads(content)["mediaType"])
        return self.blob(name[-1].rpartition("-")[2], content)

    do_HEAD = do_GET

    def blob(self, habit, content):
        if habit == "redirect":
            return self.answer(307, Location="http://169.254.169.254/latest/meta-data")
        if habit == "lies":
            content = content[:-1] + bytes([content[-1] ^ 1])
        if habit == "silent" and len(content) > 10_000:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content[:1000])
            time.sleep(60)
        if habit == "endless" and len(content) > 10_000:
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            while True:
                self.wfile.write(PIECE)
        return self.answer(200, content, "application/octet-stream")


def main():
    address, _, port = sys.argv[1].partition(":")
    server = ThreadingHTTPServer((address, int(port or 443)), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print("serving", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    main()
