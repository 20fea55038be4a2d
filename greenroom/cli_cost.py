"""`greenroom cost`: what a month on DynamoDB costs, beside the seed's own estimate."""

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any

from greenroom.cost.assumptions import Assumptions, ImpossibleError
from greenroom.cost.report import as_json, as_markdown, as_text, report
from greenroom.cost.tables import TableError, prices, units
from greenroom.doctor import MissingError
from greenroom.kernel.errors import InvalidRequest
from greenroom.settings import Settings


def register(commands: Any, add: Callable[..., Any]) -> None:
    """Add this command to the parser of `greenroom`."""
    parser = add(commands, "cost", _cost, "estimate the monthly bill on DynamoDB")
    for each in _numbers():
        parser.add_argument(
            "--" + each.name.replace("_", "-"),
            type=_number(each.metadata["least"], each.metadata["most"]),
            default=each.default,
            metavar="N",
            help=f"{each.metadata['text']} ({each.default:g})",
        )
    parser.add_argument("--free-tier", action="store_true", help="apply free monthly allowances")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown")


def _numbers() -> list["Field[Any]"]:
    return [each for each in fields(Assumptions) if each.metadata]


def _number(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"takes a number from {least:g} to {most:g}")
        return number

    return parse


def _cost(args: argparse.Namespace, _: Settings) -> int:
    try:
        given = {each.name: getattr(args, each.name) for each in _numbers()}
        shown = report(Assumptions(**given, free_tier=args.free_tier), units(), prices())
    except ImpossibleError as error:
        raise InvalidRequest(f"{error}. `greenroom cost --help` lists the assumptions.") from error
    except TableError as error:
        raise MissingError(f"{error}. Install Greenroom again, or mend that file.") from error
    if args.json:
        print(json.dumps(as_json(shown), indent=2))
    else:
        print(as_markdown(shown) if args.markdown else as_text(shown))
    return 0
