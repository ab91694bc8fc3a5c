"""Plain Python: numbers, text, and the value of a last expression."""
from fractions import Fraction

total = sum(Fraction(1, n) for n in range(1, 11))
print("1 + 1/2 + … + 1/10 =", total)
print("as a decimal:", round(float(total), 6))

2**100
