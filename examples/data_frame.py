"""A small table with pandas: group, sum, and a CSV file that comes back with the result."""
import pandas as pd

sales = pd.DataFrame({
    "region": ["north", "south", "north", "east", "south", "east"],
    "units": [12, 7, 5, 9, 14, 3],
    "price": [2.5, 2.0, 2.5, 3.0, 2.0, 3.0],
})
sales["revenue"] = sales.units * sales.price
by_region = sales.groupby("region")[["units", "revenue"]].sum().sort_values("revenue", ascending=False)
print(by_region)
by_region.to_csv("by_region.csv")
