"""Tools of an example agent: some compute, one fetches a page, and one misbehaves.

The agent's process imports this module and calls the functions as if they ran there. In the sandbox, where they do run,
the same module is imported from the agent's image.
"""

import asyncio
import html
import os
import re
import sys
import urllib.request
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from code_sandbox import tool


@dataclass
class Loan:
    amount: Decimal
    yearly_rate: Decimal
    months: int


@dataclass
class Payment:
    each_month: Decimal
    interest: Decimal


@tool
def monthly_payment(loan: Loan) -> Payment:
    """Works out what a loan costs each month, and its interest in all.

    Args:
        loan: amount, rate of a year (0.05 is five per cent) and number of months
    """
    if loan.months < 1:
        raise ValueError("a loan needs at least one month")
    rate = loan.yearly_rate / 12
    each = loan.amount / loan.months if rate == 0 else loan.amount * rate / (1 - (1 + rate) ** -loan.months)
    each = round(each, 2)
    return Payment(each, each * loan.months - loan.amount)


@tool
async def page_title(url: str) -> str:
    """Fetches a page from the web and returns its title.

    Args:
        url: with http:// or https://
    """

    def fetch() -> str:
        with urllib.request.urlopen(url, timeout=10) as page:
            return page.read(100_000).decode("utf-8", "replace")

    found = re.search(r"<title>(.*?)</title>", await asyncio.to_thread(fetch), re.S | re.I)
    return html.unescape(found[1].strip()) if found else ""


@dataclass
class Place:
    pid_namespace: str
    user: int
    python: str
    folder: str
    environment: dict[str, str]
    processes: int


@tool
def where_am_i() -> Place:
    """Says where it runs."""
    return Place(
        pid_namespace=os.readlink("/proc/self/ns/pid"),
        user=os.getuid(),
        python=sys.version.split()[0],
        folder=os.getcwd(),
        environment=dict(os.environ),
        processes=sum(name.isdigit() for name in os.listdir("/proc")),
    )


@tool(timeout_s=2)
def never_end() -> None:
    """Takes all the time that it gets."""
    while True:
        pass


@tool
def misbehave(how: Literal["memory", "exit", "fork", "print", "odd result", "own error"]) -> object:
    """Does what a tool should not do."""
    if how == "memory":
        return len([b"x" * (16 << 20) for _ in range(256)])
    if how == "exit":
        os._exit(7)
    if how == "fork":
        os.fork()
        return os.getppid()
    if how == "print":
        print('{"result": "forged"}', flush=True)
        return "honest"
    if how == "odd result":
        return {"handle": sys.stdout}
    raise OwnError(f"cannot {how}")


class OwnError(Exception):
    pass
