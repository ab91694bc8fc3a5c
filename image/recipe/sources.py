"""Copying files of the build machine into the image, and remembering them: when one changes, the image is out of date."""

import json
import os
import shutil

_marks = {}


def _mark(path):
    info = os.stat(path)
    return [info.st_size, info.st_mtime_ns]


def copy(source, target, mode=0o644):
    """Contents only: no owner, no times, no extended attributes."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, mode)
    _marks[source] = _mark(source)


def paths():
    return sorted(_marks)


def save(path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(_marks, file, indent=1, sort_keys=True)


def unchanged(path):
    """Are all files that were copied for this image still what they were?"""
    try:
        with open(path, encoding="utf-8") as file:
            return all(_mark(source) == mark for source, mark in json.load(file).items())
    except (OSError, ValueError):
        return False
