"""Runs the command that was asked for."""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module

from greenroom.commands.failures import FORESEEN, explain
from greenroom.platform.termination import unwind_on_sigterm
from greenroom.settings import Settings, load_settings

INTERRUPTED = 130


def run(args: argparse.Namespace) -> int:
    """The exit code. `args.command` names the module in this folder and its function."""
    # Before the server has handlers of its own, an early end still lets go of the database.
    unwind_on_sigterm()
    try:
        return find(args.command)(args, load_settings())
    except KeyboardInterrupt:
        return INTERRUPTED
    except FORESEEN as error:
        text, code = explain(error)
        print(f"greenroom: {text}", file=sys.stderr)
        return code


def find(name: str) -> Callable[[argparse.Namespace, Settings], int]:
    module, function = name.split(".")
    found: Callable[[argparse.Namespace, Settings], int] = getattr(
        import_module(f"greenroom.commands.{module}"), function
    )
    return found
