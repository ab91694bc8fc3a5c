"""Draws the picture of the README. To draw it anew: platformctl run docs/images/chart.py --out docs/images --force"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import curve_fit

random = np.random.default_rng(7)
days = np.arange(730)
wave = 11 + 9 * np.sin(2 * np.pi * (days - 110) / 365.25)
weather = pd.Series(wave + random.normal(0, 2.6, days.size), index=pd.date_range("2024-01-01", periods=days.size))
weekly = weather.rolling(14, center=True).mean()


def year(day, mean, swing, shift):
    return mean + swing * np.sin(2 * np.pi * (day - shift) / 365.25)


(mean, swing, shift), _ = curve_fit(year, days, weather, p0=(10, 8, 100))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), dpi=90, width_ratios=(2, 1), layout="constrained")
left.scatter(weather.index, weather, s=5, color="#9db4c8", label="measured (made up)")
left.plot(weekly, color="#e07a3f", linewidth=1.8, label="mean of 14 days")
left.plot(weather.index, year(days, mean, swing, shift), color="#2b4c66", linewidth=1.2, linestyle="--",
          label=f"fitted: {mean:.1f} ± {swing:.1f} °C")
left.set(title="Two years of weather that never was", ylabel="°C")
left.legend(frameon=False, fontsize=8, loc="upper center")

months = [part for _, part in weather.groupby(weather.index.month)]
boxes = right.boxplot(months, patch_artist=True, widths=0.65, showfliers=False, medianprops={"color": "#2b4c66"})
for box, part in zip(boxes["boxes"], months):
    box.set(facecolor=plt.cm.coolwarm((part.mean() + 2) / 26), edgecolor="#5b6b78")
right.set(title="by month", xticks=range(1, 13), xticklabels=list("JFMAMJJASOND"))

for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6")
    axes.set_axisbelow(True)
figure.savefig("chart.png")
