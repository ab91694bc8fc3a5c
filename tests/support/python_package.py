"""The Python package of this tree, as `code_sandbox`, for tests that run it against the real service."""
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python"

if str(PACKAGE) not in sys.path:
    sys.path.insert(0, str(PACKAGE))
