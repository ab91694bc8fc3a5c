"""What is run: the same source for the service and for the fresh interpreter, importing only what it needs."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Snippet:
    name: str
    title: str
    code: str
    expected: str  # found in its standard output, or the run does not count


PRINT = Snippet("print", "print(1)", "print(1)", "1\n")

DESCRIBE = Snippet(
    "describe", "pandas describe", """\
import pandas as pd

frame = pd.DataFrame({
    "price": [3.5 + i % 7 * 0.25 for i in range(100)],
    "amount": [i * i % 11 for i in range(100)],
    "shop": ["north" if i % 3 else "south" for i in range(100)],
})
print(frame.describe())
""", "std")

CHART = Snippet(
    "chart", "matplotlib PNG", """\
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
axes.plot(range(50), [i * i for i in range(50)], label="squares")
axes.set_title("Squares")
axes.set_xlabel("number")
axes.legend()
figure.savefig("chart.png")
with open("chart.png", "rb") as chart:
    print(chart.read(4)[1:].decode())
""", "PNG\n")

# CLOCK_MONOTONIC is one clock for the whole host, so this can be compared with the client's own reading.
CLOCK = Snippet("clock", "first instruction", "import time; print(time.perf_counter_ns())", "\n")

COMPARED = (PRINT, DESCRIBE, CHART)
