"""Tools that are declared with the package for agent authors."""

import dataclasses
import datetime

import code_sandbox


@dataclasses.dataclass
class Order:
    number: int
    day: datetime.date
    tags: set[str]


@code_sandbox.tool
def find_order(number: int, day: datetime.date) -> Order:
    """Finds an order."""
    return Order(number, day + datetime.timedelta(days=1), {"b", "a"})
