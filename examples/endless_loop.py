"""Never ends by itself: the sandbox is killed at its time limit, and what was printed so far comes back."""
count = 0
print("counting, for ever")
while True:
    count += 1
