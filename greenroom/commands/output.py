"""How commands print."""

import argparse
import json
from collections.abc import Sequence
from typing import Any


def show(args: argparse.Namespace, row: Any, lines: Sequence[str]) -> int:
    """JSON with `--json`, else lines for people. The exit code of a command that has done it."""
    print(json.dumps(row, indent=2) if args.json else "\n".join(lines))
    return 0
