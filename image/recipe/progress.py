"""Progress of a long build, for people and for logs: step n of m, seconds, sizes. Needs no terminal."""

import os
import sys
import threading
import time

HEARTBEAT_SECONDS = 10  # how long a log may stay silent during one step


def tree_size(path):
    """Bytes and number of regular files below path; a file linked twice counts once."""
    total, count, seen = 0, 0, set()
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                info = os.lstat(os.path.join(folder, name))
            except FileNotFoundError:  # the step that we watch may be moving things about
                continue
            if (info.st_dev, info.st_ino) not in seen:
                seen.add((info.st_dev, info.st_ino))
                total, count = total + info.st_size, count + 1
    return total, count


def mebibytes(size):
    return f"{size / 1048576:.1f} MiB" if size < 100 << 20 else f"{size / 1048576:.0f} MiB"


class Progress:
    """Counts steps; `with progress.step("title", watch=folder): ...` prints one line per step when it is over."""

    def __init__(self, total, out=sys.stdout):
        self.total, self.done, self.out = total, 0, out
        self.terminal = out.isatty()
        self.began = time.monotonic()

    def line(self, text):
        if self.terminal:
            self.out.write("\r\x1b[K")
        print(text, file=self.out, flush=True)

    def step(self, title, watch=None):
        self.done += 1
        return _Step(self, f"[{self.done}/{self.total}] {title}", watch)


class _Step:
    def __init__(self, progress, title, watch):
        self.progress, self.title, self.watch, self.detail = progress, title, watch, ""
        self.over = threading.Event()

    def note(self, text):
        """What the step found out; stands behind its line."""
        self.detail = text

    def _pulse(self):
        interval = 0.5 if self.progress.terminal else HEARTBEAT_SECONDS
        while not self.over.wait(interval):
            seconds = time.monotonic() - self.began
            size = f", {mebibytes(tree_size(self.watch)[0])}" if self.watch and os.path.exists(self.watch) else ""
            text = f"{self.title} … {seconds:.0f} s{size}"
            if self.progress.terminal:
                self.progress.out.write(f"\r\x1b[K{text}")
                self.progress.out.flush()
            else:
                self.progress.line(text)

    def __enter__(self):
        self.began = time.monotonic()
        if not self.progress.terminal:
            self.progress.line(f"{self.title} …")
        self.pulse = threading.Thread(target=self._pulse, daemon=True)
        self.pulse.start()
        return self

    def __exit__(self, kind, value, trace):
        self.over.set()
        self.pulse.join()
        seconds = time.monotonic() - self.began
        parts = [f"{seconds:.1f} s"]
        if self.watch and os.path.exists(self.watch):
            parts.append(mebibytes(tree_size(self.watch)[0]))
        if self.detail:
            parts.append(self.detail)
        self.progress.line(f"{self.title}: {'FAILED after ' if kind else ''}{', '.join(parts)}")
        return False
