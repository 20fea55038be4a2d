"""`greenroom serve`, and what `greenroom demo` has in common with it."""

import argparse
from dataclasses import replace

from greenroom.bootstrap import Rooms, database, http_app
from greenroom.commands.failures import UsageError
from greenroom.doctor import address_complaint, signing_secret
from greenroom.platform.logs import configure_logging
from greenroom.platform.migrations import migrate
from greenroom.platform.termination import run_until_sigterm
from greenroom.server import serve as serve_all
from greenroom.server import serve_one
from greenroom.settings import Settings


def serve(args: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    if args.fd is not None:
        with database(settings) as url:
            return serve_one(
                lambda: http_app(Rooms(settings, url)), fd=args.fd, limits=settings.limits
            )
    settings = with_options(args, settings)
    check_address(settings)
    if settings.jwt_secret is not None or settings.jwks_url is None:
        signing_secret(settings)
    with database(settings) as url:
        run_until_sigterm(migrate(url))
        return serve_all(
            lambda: http_app(Rooms(settings, url)),
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            limits=settings.limits,
        )


def with_options(args: argparse.Namespace, settings: Settings) -> Settings:
    options = ((name, getattr(args, name)) for name in ("host", "port", "workers"))
    return replace(settings, **{name: value for name, value in options if value is not None})


def check_address(settings: Settings, options: str = "--port, --host") -> None:
    """Before the database starts, so that a taken port is told at once."""
    complaint = address_complaint(settings)
    if complaint is not None:
        raise UsageError(f"{complaint} Stop what holds it, or choose others with {options}.")
