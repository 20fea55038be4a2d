"""`greenroom config`, `doctor`, `openapi` and `version`."""

import argparse
import json
import tempfile
from dataclasses import asdict

from greenroom import __version__
from greenroom.bootstrap import Rooms
from greenroom.bootstrap import openapi as describe_api
from greenroom.commands.output import show
from greenroom.demo.rest import DemoRest
from greenroom.doctor import examine
from greenroom.kernel.clock import system_clock
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.settings import Settings, describe, load_settings


def config(args: argparse.Namespace, _: Settings) -> int:
    rows = describe()
    width = max(len(row["name"]) for row in rows)
    lines = [f"{r['name']:{width}}  {r['value'] or '(unset)':24}  {r['description']}" for r in rows]
    return show(args, rows, lines)


def doctor(args: argparse.Namespace, settings: Settings) -> int:
    findings = run_until_sigterm(examine(settings))
    lines = [f"{each.verdict:7} {each.subject}: {each.text}" for each in findings]
    show(args, [asdict(each) for each in findings], lines)
    return 1 if any(each.verdict == "missing" for each in findings) else 0


def openapi(args: argparse.Namespace, _: Settings) -> int:
    """The document does not depend on settings, and nothing is opened for it. The rooms create
    secrets when they are built, so they get a temporary home."""
    with tempfile.TemporaryDirectory() as home:
        settings = load_settings({"GREENROOM_HOME": home})
        extra = DemoRest(settings, system_clock).endpoints() if args.demo else []
        print(json.dumps(describe_api(Rooms(settings, "postgresql://"), extra), indent=2))
    return 0


def version(args: argparse.Namespace, _: Settings) -> int:
    return show(args, {"version": __version__}, [f"greenroom {__version__}"])
