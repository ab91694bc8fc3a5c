"""The TypeScript client of this tree, compiled by scripts/install-typescript-client, and the node that it is run by."""
import shutil
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "clients" / "typescript"
OWN_NODE = REPOSITORY / "build" / "node" / "node_modules" / "node" / "bin" / "node"
NODE = OWN_NODE if OWN_NODE.exists() else shutil.which("node")
