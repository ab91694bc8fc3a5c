"""Reads what the request brought along: a file in the working directory, and standard input. The changed file comes back."""
import csv
import sys

factor = float(sys.stdin.readline())
with open("amounts.csv", newline="") as file:
    rows = list(csv.DictReader(file))
for row in rows:
    row["amount"] = f"{float(row['amount']) * factor:.2f}"
with open("amounts.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
print("scaled", len(rows), "amounts by", factor)
