"""A failure is a result, too: exit code 1, what was printed before it, and a traceback with these line numbers."""

prices = {"apple": 0.4, "pear": 0.5}
print("looking for the price of a plum")
print(prices["plum"])
