"""Runs the check_* functions of one probe inside the image and prints one JSON line for each: name, error or null."""

import importlib
import json
import sys
import traceback



def run(module):
    sys.path.insert(0, "/mnt/data")
    probe = importlib.import_module(module)
    report = sys.stdout
    sys.stdout = sys.stderr
    for name in [name for name in vars(probe) if name.startswith("check_")]:
        try:
            getattr(probe, name)()
            error = None
        except BaseException:  # a check that exits has failed, too
            error = traceback.format_exc(limit=-2)
        print(json.dumps({"name": name[len("check_"):].replace("_", " "), "error": error}), file=report, flush=True)


if __name__ == "__main__":  # multiprocessing's children import this file, too
    run(sys.argv[1])
