"""A chart with matplotlib, saved as a PNG in the working directory, from where it comes back."""
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 4 * np.pi, 400)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for damping in (0, 0.1, 0.3):
    axes.plot(x, np.exp(-damping * x) * np.sin(x), label=f"damping {damping}")
axes.set_title("A damped oscillation")
axes.set_xlabel("time")
axes.set_ylabel("deflection")
axes.grid(alpha=0.3)
axes.legend()
figure.savefig("chart.png", dpi=120)
print("saved chart.png")
