"""Runs a command and turns its outcome into an exit code."""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module

from greenroom.commands.failures import FORESEEN, explain
from greenroom.commands.pipes import nobody_reads
from greenroom.platform.processes.termination import unwind_on_sigterm
from greenroom.settings import Settings, load_settings

INTERRUPTED = 130


def run(args: argparse.Namespace) -> int:
    """The exit code. `args.command` names the module in this folder and its function."""
    # Until the server installs its own handlers, SIGTERM must still release the database.
    unwind_on_sigterm()
    try:
        return find(args.command)(args, load_settings())
    except KeyboardInterrupt:
        return INTERRUPTED
    except FORESEEN as error:
        if isinstance(error, BrokenPipeError) and nobody_reads():
            raise
        text, code = explain(error)
        print(f"greenroom: {text}", file=sys.stderr)
        return code


def find(name: str) -> Callable[[argparse.Namespace, Settings], int]:
    module, function = name.split(".")
    found: Callable[[argparse.Namespace, Settings], int] = getattr(
        import_module(f"greenroom.commands.{module}"), function
    )
    return found
