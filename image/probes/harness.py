"""Runs the check_* functions of one probe inside the image and prints one JSON line for each: name, error or null, reason for skipping
or null, seconds."""

import importlib
import json
import sys
import time
import traceback
import unittest


def run(module):
    sys.path.insert(0, "/mnt/data")
    probe = importlib.import_module(module)
    report = sys.stdout
    sys.stdout = sys.stderr
    for name in [name for name in vars(probe) if name.startswith("check_")]:
        began = time.monotonic()
        error = skipped = None
        try:
            getattr(probe, name)()
        except unittest.SkipTest as reason:
            skipped = str(reason)
        except BaseException:  # a check that exits has failed, too
            error = traceback.format_exc(limit=-2)
        title = name[len("check_"):].replace("_", " ")
        line = {"name": title, "error": error, "skipped": skipped, "seconds": time.monotonic() - began}
        print(json.dumps(line), file=report, flush=True)


if __name__ == "__main__":  # multiprocessing's children import this file, too
    run(sys.argv[1])
