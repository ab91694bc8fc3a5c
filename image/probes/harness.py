"""Runs the check_* functions of one probe inside the image and prints one JSON line for each: name, error or null, seconds."""

import importlib
import json
import sys
import time
import traceback


def run(module):
    sys.path.insert(0, "/mnt/data")
    probe = importlib.import_module(module)
    report = sys.stdout
    sys.stdout = sys.stderr
    for name in [name for name in vars(probe) if name.startswith("check_")]:
        began = time.monotonic()
        try:
            getattr(probe, name)()
            error = None
        except BaseException:  # a check that exits has failed, too
            error = traceback.format_exc(limit=-2)
        title = name[len("check_"):].replace("_", " ")
        print(json.dumps({"name": title, "error": error, "seconds": time.monotonic() - began}), file=report, flush=True)


if __name__ == "__main__":  # multiprocessing's children import this file, too
    run(sys.argv[1])
