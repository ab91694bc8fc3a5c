"""Functions that the tests of tool calls run in a room, from the working folder of an agent's image."""

TABLE = {}


def add(a, b):
    print("adding", a, b)
    return a + b


async def add_later(a, b):
    import asyncio

    await asyncio.sleep(0.01)
    return a + b


class Shop:
    @staticmethod
    def total(prices):
        return sum(prices.values())


def same(value):
    return value


def give(what):
    return eval(what)


def run(code):
    """Executes any code; what it calls `result` is returned."""
    scope = {}
    exec(code, scope)
    return scope["result"]


def inner():
    raise ValueError("no such order")


def fail():
    inner()


async def fail_later():
    inner()


def square(number):
    return number * number


def squares(numbers):
    import multiprocessing

    found = {}
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            found[method] = pool.map(square, numbers)
    return found
