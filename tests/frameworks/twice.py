"""Runs a program once for each agent that is named: its imports take longer than all that it does.

    twice.py PROGRAM AGENT ...
"""
import os
import sys

path, *agents = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    program = compile(file.read(), path, "exec")
for agent in agents:
    os.environ["CODE_SANDBOX_AGENT"] = agent
    exec(program, {"__name__": "__main__"})
    print(f"-- end of {agent}", flush=True)
