"""`greenroom cost`: what a month on DynamoDB costs."""

import argparse
import json

from greenroom.cost.assumptions import Assumptions, ImpossibleError, numbers
from greenroom.cost.report import as_json, as_markdown, as_text, report
from greenroom.cost.tables import TableError, prices, units
from greenroom.doctor import MissingError
from greenroom.kernel.errors import InvalidRequest
from greenroom.settings import Settings


def cost(args: argparse.Namespace, _: Settings) -> int:
    try:
        given = {each.name: getattr(args, each.name) for each in numbers()}
        shown = report(Assumptions(**given, free_tier=args.free_tier), units(), prices())
    except ImpossibleError as error:
        raise InvalidRequest(f"{error}. `greenroom cost --help` lists the assumptions.") from error
    except TableError as error:
        raise MissingError(f"{error}. Install Greenroom again, or correct that file.") from error
    if args.json:
        print(json.dumps(as_json(shown), indent=2))
    else:
        print(as_markdown(shown) if args.markdown else as_text(shown))
    return 0
