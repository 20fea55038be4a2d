"""How commands print."""

import argparse
import json
from collections.abc import Sequence
from typing import Any


def show(args: argparse.Namespace, row: Any, lines: Sequence[str]) -> int:
    """Print JSON with `--json`, else lines for people. Returns the exit code 0."""
    print(json.dumps(row, indent=2) if args.json else "\n".join(lines))
    return 0
