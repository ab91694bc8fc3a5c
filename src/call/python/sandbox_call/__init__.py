"""What the runner of tool calls needs now and then; see run_tool.py."""
