"""Code planted for the next run: .pth files, sitecustomize, compiled modules, start-up files, shell profiles, fonts."""


def test_nothing_planted_is_ever_run(service):
    planted = service.run("""
        import os, site, sys, sysconfig
        text = "print('PLANTED')"
        places = {sysconfig.get_paths()["purelib"] + "/x.pth": "import builtins; " + text, sysconfig.get_paths()["stdlib"] + "/sitecustomize.py": text,
                  site.getusersitepackages() + "/usercustomize.py": text, site.getusersitepackages() + "/x.pth": "import sys; " + text,
                  "/mnt/data/sitecustomize.py": text, "/mnt/data/numpy.py": text, "/mnt/data/encodings/__init__.py": text, "/home/nonroot/.pythonrc": text,
                  "/home/nonroot/.profile": "echo PLANTED", "/home/nonroot/.config/matplotlib/matplotlibrc": "backend: " + text, "/tmp/_confine.py": text,
                  os.path.dirname(os.__file__) + "/__pycache__/json.cpython-312.pyc": text, "/home/nonroot/main.py": text, "/opt/sandbox/sandbox_runner.py": text,
                  "/dev/shm/sitecustomize.py": text}
        written = []
        for path, content in places.items():
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, "w").write(content)
                written.append(path)
            except OSError:
                pass
        print(sorted(path for path in written if not path.startswith(("/mnt/data", "/home/nonroot", "/tmp", "/dev/shm"))))
        print(len(written) >= 5)
        """)
    assert planted.stdout == "[]\nTrue\n"
    for _ in range(4):
        reply = service.run("import json, numpy, site, subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout)")
        assert reply.stdout == "1\n\n" and "PLANTED" not in reply.stderr


def test_control_within_its_own_run_it_is(service):
    reply = service.run("""
        import os, site, subprocess, sys
        os.makedirs(site.getusersitepackages(), exist_ok=True)
        open(site.getusersitepackages() + "/usercustomize.py", "w").write("print('PLANTED')")
        print(subprocess.run([sys.executable, "-c", ""], capture_output=True, text=True).stdout, end="")
        """)
    assert reply.stdout in ("PLANTED\n", ""), "user site packages may be switched off; then there is nothing to plant"
