"""`python -m bench.scale`: computes and simulates the tables of docs/scale.md from stated figures.

Nothing is measured, so the results are the same on every machine. It takes a second or two.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.scale.document import DocumentError, fill
from bench.scale.levels import ZIPF
from bench.scale.tables import TABLES
from greenroom.cost.tables import units

SEED = 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the simulations ({SEED})")
    parser.add_argument(
        "--update", type=Path, metavar="FILE", help="put the tables into a document"
    )
    given = parser.parse_args()
    tables = {name: make(given.seed) for name, (_, make) in TABLES.items()}
    if given.update is not None:
        try:
            given.update.write_text(fill(given.update.read_text(), tables))
        except (DocumentError, OSError) as error:
            print(f"{given.update}: {error}", file=sys.stderr)
            return 1
        return 0
    print(printed(tables, given.seed))
    return 0


def printed(tables: Mapping[str, str], seed: int) -> str:
    head = f"Seed {seed}, exponent {ZIPF:g}, units of {units().measured_at_version}."
    parts = (f"## {title}\n\n{tables[name]}" for name, (title, _) in TABLES.items())
    return "\n\n".join((head, *parts))


if __name__ == "__main__":
    sys.exit(main())
