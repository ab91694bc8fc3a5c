"""Samples and what is said about them. Percentiles are the nearest-rank ones: values that were really measured."""
import math


class Samples:
    def __init__(self, title, unit="ms"):
        self.title, self.unit, self.values = title, unit, []

    def add(self, value):
        self.values.append(value)

    def __len__(self):
        return len(self.values)

    def percentile(self, percent):
        ordered = sorted(self.values)
        return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]

    @property
    def p50(self):
        return self.percentile(50)

    def summary(self):
        return {
            "title": self.title, "unit": self.unit, "n": len(self.values), "min": min(self.values),
            "p50": self.p50, "p95": self.percentile(95), "p99": self.percentile(99), "max": max(self.values),
            "samples": self.values,
        }


def single(title, unit, value):
    """A figure that was measured once, over a whole stretch of time."""
    samples = Samples(title, unit)
    samples.add(value)
    return samples
