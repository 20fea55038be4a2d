"""`python -m bench.units`: prints the capacity units of each operation of the DynamoDB store.

Measured on the embedded engine, whose answers contain capacity units like DynamoDB's.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from bench.units.report import as_markdown, as_table
from bench.units.scenario import Bench, Measured, measure_all
from greenroom.platform.dynamodb.credentials import embedded_access
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb

TABLE = "units"
UNITS = Path(__file__).parents[2] / "greenroom" / "cost" / "units.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.units", description=__doc__)
    parser.add_argument(
        "--messages", type=int, default=1000, help="in the thread that is measured (1000)"
    )
    parser.add_argument(
        "--write", action="store_true", help="put the figures into greenroom/cost/units.json"
    )
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="greenroom-bench-"))
    try:
        measured = asyncio.run(measure(home, given.messages))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if given.write:
        UNITS.write_text(as_table(measured))
    print(as_markdown(measured))
    return 0


async def measure(home: Path, messages: int) -> dict[str, Measured]:
    with EmbeddedDynamoDb(home).using() as url:
        access = embedded_access(url)
        client = open_client(access)
        await create_table(client, TABLE)
        await client.close()
        bench = Bench(access, TABLE)
        try:
            return await measure_all(bench, messages)
        finally:
            await bench.close()


if __name__ == "__main__":
    sys.exit(main())
