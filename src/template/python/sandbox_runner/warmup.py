"""Typical code: run once in the template, and again where the pages that it touches are measured.

Run in the template it makes libraries load what they load on first use, fill their caches, and let the interpreter
specialise their code, all of which children then share. It prints nothing, writes no file, starts no thread or process
and no asyncio task (tasks are numbered, and a snippet's first is Task-1), uses generators of its own for randomness,
and tidies up.
"""

import gc
import io
import os
import sys
import warnings

from . import claim, display, ending, frames, last_value, represent, run, snippet


class quiet:
    """Standard output and error go nowhere; warnings are neither shown nor remembered."""

    def __enter__(self):
        self._streams = sys.stdout, sys.stderr
        self._show = warnings.showwarning
        sys.stdout = sys.stderr = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        warnings.showwarning = lambda *_, **__: None

    def __exit__(self, *_):
        sys.stdout, sys.stderr = self._streams
        warnings.showwarning = self._show


# --- what snippets do ---


def interpreter() -> None:
    """Plain Python: text, numbers, containers, errors, the standard library."""
    import collections
    import csv
    import dataclasses
    import datetime
    import inspect
    import json
    import math
    import re
    import sqlite3
    import ssl
    import statistics
    import traceback
    import zoneinfo

    @dataclasses.dataclass
    class Point:
        x: int
        y: float = 1.0

    print(Point(1), f"{math.pi:.3f} {12345678:,} {'x':>10}", sorted({3, 1, 2}), {"a": [1, 2.5, None]})
    print(json.dumps(json.loads('{"a": [1, 2, {"b": null}], "t": "é"}'), indent=2))
    print(re.findall(r"(\w+)@(\w+)\.com", "a@b.com, c@d.com"), re.sub(r"\s+", " ", "a  b"))
    print(collections.Counter("mississippi").most_common(2), statistics.stdev([1, 2, 4]))
    print(datetime.datetime(2024, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("UTC")).strftime("%Y-%m-%d %H:%M %Z"))
    print(
        datetime.date(2024, 2, 29) + datetime.timedelta(days=365), datetime.datetime.fromisoformat("2024-01-02T03:04")
    )
    writer = csv.DictWriter(sys.stdout, ["a", "b"])
    writer.writerow({"a": 1, "b": "x,y"})
    database = sqlite3.connect(":memory:")
    database.execute("create table t (n)")
    print(database.execute("select sum(n) from t").fetchone())
    database.close()
    print(inspect.signature(json.dumps), len(inspect.getsource(json.dumps)))
    ssl.RAND_bytes(1)  # makes OpenSSL's generator, which parked children then only stir (reseed.py)
    try:
        {}["missing"]
    except KeyError:
        print(traceback.format_exc())
    try:
        compile("total = 3 ***** 2", "main.py", "exec")
    except SyntaxError as problem:
        sys.__excepthook__(type(problem), problem, None)


def numpy_basics() -> None:
    import numpy as np

    a = np.arange(12.0).reshape(3, 4)
    print(a, a.T @ a, a.mean(axis=0), a[a > 3], np.linspace(0, 1, 5), np.where(a > 5, a, 0))
    print(np.linalg.inv(np.eye(3) * 2), np.linalg.eigvalsh(np.eye(3)), np.linalg.solve(np.eye(3), np.ones(3)))
    print(np.random.default_rng(1).normal(size=3).round(1), np.sort(np.array([3, 1, 2])), np.array(["a", "b"]))
    print(np.fft.fft(np.ones(8)).real, np.percentile(a, [25, 75]), np.cumsum(a), np.unique([1, 1, 2]))


def pandas_describe() -> None:
    """The small data-frame job of the benchmark, and its nearest relatives."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.normal(size=1000), "b": rng.integers(0, 100, size=1000), "c": rng.choice(["x", "y", "z"], size=1000)}
    )
    print(frame.describe())
    print(frame.groupby("c").agg({"a": "mean", "b": "sum"}))
    print(frame.head(), frame.dtypes, frame.shape)
    print(
        frame["b"].value_counts().head(), frame.sort_values("a").tail(3), frame[frame["b"] > 50].mean(numeric_only=True)
    )


def pandas_more() -> None:
    import pandas as pd

    text = io.StringIO("day,city,n\n2024-01-01,Oslo,1\n2024-01-02,Rome,2.5\n2024-02-03,Oslo,\n")
    frame = pd.read_csv(text, parse_dates=["day"])
    frame.info(buf=io.StringIO())
    frame["n"] = frame["n"].fillna(frame["n"].mean())
    frame["m"] = frame["day"].dt.month
    print(frame.to_string(), frame.to_csv(index=False), frame.to_json(orient="records"), frame._repr_html_())
    print(frame.pivot_table(index="city", columns="m", values="n", aggfunc="sum"), frame.corr(numeric_only=True))
    print(frame.merge(frame[["city", "n"]], on="city"), pd.concat([frame, frame]).drop_duplicates(), frame.isna().sum())
    print(frame.set_index("day")["n"].resample("MS").sum(), frame["n"].rolling(2).mean(), frame["city"].str.upper())
    print(frame.apply(lambda row: row["n"] * 2, axis=1), frame.describe(include="all"), pd.to_datetime("2024-03-01"))
    book = io.BytesIO()
    frame.to_excel(book, index=False)
    book.seek(0)
    print(pd.read_excel(book))


def matplotlib_png() -> None:
    """A line chart with labels, saved as PNG."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot([0, 1, 2, 3], [1, 3, 2, 5], marker="o", label="line")
    axes.set_title("Title")
    axes.set_xlabel("x label")
    axes.set_ylabel("y label")
    axes.legend()
    axes.grid(True)
    figure.tight_layout()
    figure.savefig(io.BytesIO(), format="png")
    plt.close(figure)


def matplotlib_more() -> None:
    import matplotlib.pyplot as plt
    import numpy as np
    import pandas as pd

    figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
    axes[0, 0].bar(["a", "b", "c"], [1, 3, 2], color="tab:blue")
    axes[0, 1].scatter([1, 2, 3], [3, 1, 2], c=[1, 2, 3], cmap="viridis")
    axes[0, 2].hist(np.linspace(0, 1, 50), bins=10, alpha=0.5)
    axes[1, 0].pie([1, 2, 3], labels=["a", "b", "c"], autopct="%1.0f%%")
    figure.colorbar(axes[1, 1].imshow(np.eye(4)), ax=axes[1, 1])
    axes[1, 2].boxplot([[1, 2, 3], [2, 3, 4]])
    axes[1, 2].annotate("$x^2$", (1, 2))
    figure.savefig(io.BytesIO(), format="png", dpi=100, bbox_inches="tight")
    plt.close(figure)
    dates = pd.Series([1, 2, 3], index=pd.date_range("2024-01-01", periods=3)).plot(title="dates").figure
    for kind in ("svg", "pdf"):
        dates.savefig(io.BytesIO(), format=kind)
    plt.close("all")


def science() -> None:
    import numpy as np
    from scipy import integrate, interpolate, optimize, signal, stats
    from sklearn.cluster import KMeans
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.metrics import accuracy_score, mean_squared_error
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    print(optimize.minimize(lambda p: (p[0] - 1) ** 2, [0.0]).x, optimize.brentq(lambda t: t * t - 2, 0, 2))
    print(integrate.quad(np.sin, 0, 1), interpolate.interp1d([0, 1], [0, 2])(0.5), stats.norm.cdf(0))
    print(
        stats.ttest_ind([1, 2, 3], [2, 3, 5]), stats.linregress([1, 2, 3], [2, 4, 7]), signal.find_peaks([0, 1, 0])[0]
    )
    X = np.arange(80.0).reshape(40, 2) % 7
    y = X[:, 0] * 2 + 1
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    print(mean_squared_error(y_test, LinearRegression().fit(train, y_train).predict(test)))
    classes = (y > y.mean()).astype(int)
    print(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, classes).score(X, classes))
    print(accuracy_score(classes, RandomForestClassifier(3, random_state=0).fit(X, classes).predict(X)))
    print(KMeans(2, n_init=1, random_state=0).fit(X).labels_[:3])


def symbols() -> None:
    import sympy as sp

    x = sp.Symbol("x")
    print(
        sp.solve(x**2 - 2, x),
        sp.integrate(sp.sin(x) * x, x),
        sp.diff(sp.exp(x**2), x),
        sp.simplify((x**2 - 1) / (x - 1)),
    )
    print(sp.Matrix([[1, 2], [3, 4]]).inv(), sp.latex(sp.sqrt(x)), sp.limit(sp.sin(x) / x, x, 0), sp.factorint(360))
    sp.pprint(sp.Eq(x**2, 2))


def pictures() -> None:
    from PIL import Image, ImageDraw, ImageFilter

    image = Image.new("RGB", (64, 48), "white")
    ImageDraw.Draw(image).rectangle((4, 4, 40, 30), fill="red", outline="black")
    image = image.resize((32, 24)).filter(ImageFilter.BLUR).convert("L")
    for kind in ("PNG", "JPEG"):
        file = io.BytesIO()
        image.save(file, format=kind)
        Image.open(file).load()


def results() -> None:
    """What becomes of last values and of shown figures, short of sending it."""
    import matplotlib.pyplot as plt
    import pandas as pd

    for value in (5, [1, {"a": (2,)}], pd.DataFrame({"a": [1]}), "text"):
        represent.text(value)
        represent.rich(value)
    last_value.to_show(None, b"1 + 1\n")
    last_value.to_show(5, b"x = 5\nx\n")
    figure = plt.figure()
    figure.add_subplot().plot([1, 2])
    display._picture(figure)
    plt.close(figure)


ALL = (
    interpreter,
    numpy_basics,
    pandas_describe,
    pandas_more,
    matplotlib_png,
    matplotlib_more,
    science,
    symbols,
    pictures,
    results,
)


AGAIN = (interpreter, numpy_basics, pandas_describe, matplotlib_png)  # code is specialised when it is run again


def run_all() -> list:
    """Everything. Returns what failed, which leaves a colder template but a good one."""
    failed = []
    with quiet():
        for work in ALL + AGAIN:
            try:
                work()
            except Exception as problem:
                failed.append((work.__name__, problem))
    tidy()
    return failed


def tidy() -> None:
    """Leaves no figure, no open font file and no garbage."""
    import linecache

    import matplotlib.font_manager
    import matplotlib.mathtext
    import matplotlib.pyplot

    matplotlib.pyplot.close("all")
    # Loaded fonts hold their files open; formulas hold fonts.
    for cached in (matplotlib.font_manager._get_font, matplotlib.mathtext.MathTextParser._parse_cached):
        cached.cache_clear()
    linecache.clearcache()
    gc.collect()


# --- what a parked child should have in memory ---


def _quietly(work):
    def workload():
        with quiet():
            work()

    workload.__name__ = work.__name__
    return workload


def plain_run() -> None:
    """A whole run of `print(1)`, from the claim to the last thing before the process's end."""
    import socket

    ours, theirs = socket.socketpair()
    source = b"print(1)\n"
    theirs.sendall(frames.header(frames.CODE, len(source)) + source)
    channel = claim.Channel(ours.detach())
    _, received, descriptors = channel.receive()
    ending.report(run.run_claimed(channel, received, descriptors, os.devnull) and None)
    theirs.close()
    snippet.remember_lines(os.devnull, b"")
    ending.finalize()


def workloads() -> list:
    """For the profile of hot pages, in a child that ends afterwards; the last one ends everything but the process.

    Together they cost a parked child about 10 MB of its own. A chart (matplotlib_png) would double that, for a run that
    takes a hundred milliseconds in any case.
    """
    return [_quietly(pandas_describe), plain_run]
