"""A module of an agent's, with tools of every kind."""
import dataclasses
import datetime
import enum
from typing import Annotated, Literal, Optional

import pydantic

from code_sandbox import tool

CALLED = []


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclasses.dataclass
class Order:
    """One order.

    Attributes:
        number: as on the bill
    """

    number: int
    placed: datetime.date
    size: Size = Size.SMALL
    parts: "list[Order]" = dataclasses.field(default_factory=list)


class Customer(pydantic.BaseModel):
    name: str = pydantic.Field(description="first and last")
    orders: list["Bill"] = []


class Bill(pydantic.BaseModel):
    amount: float


Customer.model_rebuild()


@tool
def find_order(number: int, since: Optional[datetime.date] = None) -> Order:
    """Finds an order.

    Looks everywhere.

    Args:
        number: the number
            on the bill
        since (date): no older than this

    Returns:
        The order.
    """
    CALLED.append(("find_order", number, since))
    return Order(number, since or datetime.date(2030, 1, 1))


@tool(timeout_s=90, name="search-orders", description="Searches.")
async def search(text: Annotated[str, "words"], how: Literal["fast", "deep"] = "fast",
                 limit: Annotated[int, pydantic.Field(description="at most", gt=0)] = 10) -> list[Order]:
    CALLED.append(("search", text, how, limit))
    return []


@tool
def everything(order: Order, customer: Customer, pair: tuple[int, str], sizes: set[Size], by_name: dict[str, float],
               data: bytes, anything, price: "int | float" = 1.5):
    """
    Takes everything.

    Parameters
    ----------
    order : Order
        the order
    sizes, by_name
        both of them

    Notes
    -----
    Slow.
    """


@tool
def sphinx(a, b=None):
    """Does it.

    :param a: the first,
        over two lines
    :param int b: the second
    :returns: nothing
    """


@tool
def nothing() -> None:
    CALLED.append("nothing")


class Group:
    @staticmethod
    @tool
    def grouped(a: int) -> int:
        return a + 1
