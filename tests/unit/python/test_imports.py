"""The lists of what the template imports stay true to the image."""

import pytest


def test_every_name_can_be_imported(runner):
    outcome = runner.run(call="""
        import importlib
        from sandbox_runner import imports
        for name in imports.PROMISED + imports.STANDARD + imports.LIBRARIES:
            try:
                importlib.import_module(name)
            except ImportError as problem:
                print(name, problem)
        """.replace("\n        ", "\n"))
    assert outcome.stdout == "" and outcome.stderr == ""


def test_no_name_twice():
    from sandbox_runner import imports

    names = imports.STANDARD + imports.LIBRARIES
    assert sorted(names) == sorted(set(names))


TYPICAL = [
    "import numpy as np, pandas as pd, matplotlib.pyplot as plt, scipy.stats, sklearn.linear_model, sympy, openpyxl, PIL.Image",
    "import json, re, csv, math, random, datetime, collections, itertools, functools, statistics, pathlib, io, os, sys, time",
    "import asyncio, threading, subprocess, multiprocessing, concurrent.futures, sqlite3, tempfile, zipfile, urllib.request, uuid",
    "from sklearn.ensemble import RandomForestClassifier; from sklearn.cluster import KMeans; from sklearn.metrics import r2_score",
    "from scipy.optimize import minimize; from scipy.integrate import solve_ivp; from scipy.interpolate import CubicSpline; from scipy import signal",
    "import matplotlib.dates, matplotlib.animation; from mpl_toolkits.mplot3d import Axes3D; from matplotlib.gridspec import GridSpec",
    "import pandas as pd; pd.DataFrame({'a': [1]}).to_excel('a.xlsx'); pd.DataFrame({'a': [1]}).plot(); pd.read_excel('a.xlsx')",
    "import typing, dataclasses, enum, abc, contextlib, textwrap, string, decimal, fractions, heapq, bisect, copy, pprint, hashlib, base64, struct",
]


@pytest.mark.parametrize("source", TYPICAL)
def test_typical_imports_load_nothing_more(runner, source):
    """Modules that are already there cost nothing; what is loaded in a sandbox costs every run."""
    outcome = runner.run(f"import sys\nbefore = set(sys.modules)\n{source}\nprint(sorted(set(sys.modules) - before))")
    assert outcome.stdout == "[]\n", outcome


def test_names_of_users_modules_stay_free(runner):
    """A module that many people would write must not be in the way."""
    taken = runner.run(
        "import sys\nprint([n for n in 'main utils util helper helpers config settings data models model tools common test tests app lib core "
        "analysis plot plots run solution script functions constants types_ template hot_pages _confine sandbox_runner guard claim frames'.split() if n in sys.modules])")
    assert taken.stdout == "[]\n"
