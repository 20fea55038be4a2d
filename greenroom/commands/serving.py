"""`greenroom serve`, and what it shares with `greenroom demo`."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from errno import EADDRINUSE

from greenroom.bootstrap import Rooms, database, http_app
from greenroom.commands.failures import UsageError
from greenroom.doctor import cannot_listen, signing_secret
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from greenroom.platform.http.tls import Certificate
from greenroom.platform.logs import configure_logging
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.server import bind, serve_one
from greenroom.server import serve as serve_all
from greenroom.settings import Settings, server_url

LAST_PORT = 65535
OPTIONS = ("host", "port", "workers", "tls_cert", "tls_key")


def serve(args: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    if args.fd is not None:
        with database(settings) as url:
            return serve_one(
                lambda: http_app(Rooms(settings, url)),
                fd=args.fd,
                limits=settings.limits,
                certificate=certificate(settings),
            )
    settings = with_options(args, settings)
    check_address(settings)
    tls = certificate(settings)
    if settings.jwt_secret is not None or settings.jwks_url is None:
        signing_secret(settings)
    with explained_if_taken(settings), database(settings) as url:
        run_until_sigterm(migrate(url))
        return serve_all(
            lambda: http_app(Rooms(settings, url)),
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            limits=settings.limits,
            certificate=tls,
        )


def with_options(args: argparse.Namespace, settings: Settings) -> Settings:
    """The settings with the options in their place. Workers are processes of their own, which read
    both from the environment."""
    given = {name: getattr(args, name) for name in OPTIONS if getattr(args, name) is not None}
    for name, value in given.items():
        os.environ[f"GREENROOM_{name.upper()}"] = str(value)
    return replace(settings, **given)


def certificate(settings: Settings) -> Certificate | None:
    """None when the server speaks plain HTTP. Raises TlsError."""
    cert, key = settings.tls_cert, settings.tls_key
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise UsageError(
            "TLS takes a certificate and its private key: give both --tls-cert and --tls-key, or "
            "GREENROOM_TLS_CERT and GREENROOM_TLS_KEY."
        )
    return Certificate(cert, key)


def check_address(settings: Settings, option: str = "--port") -> None:
    """Called before the database starts, so that a port that cannot be used is reported at once."""
    try:
        bind(settings.host, settings.port).close()
    except (OSError, UnicodeError) as error:
        if getattr(error, "errno", None) == EADDRINUSE:
            raise UsageError(_taken(settings, option)) from error
        complaint = cannot_listen(settings, error)
        raise UsageError(f"{complaint} Choose others with {option}, --host.") from error


@contextmanager
def explained_if_taken(settings: Settings) -> Iterator[None]:
    """While a server starts: another one may take the port before this one listens."""
    try:
        yield
    except OSError as error:
        if error.errno != EADDRINUSE:
            raise
        raise UsageError(_taken(settings, "--port")) from error


def _taken(settings: Settings, option: str) -> str:
    holder = "by another program"
    if settings.database_url is None and EmbeddedPostgres(settings.home).status().users:
        address = server_url(settings, settings.port)
        holder = f"perhaps by the Greenroom that already runs on {settings.home}: look at {address}"
    other = _free_port(settings)
    ways = f"{option} {other}"
    if option == "--port":
        ways += f", or set GREENROOM_PORT: `GREENROOM_PORT={other} make run`"
    return f"Port {settings.port} of {settings.host} is taken, {holder}. Stop it, or use {ways}."


def _free_port(settings: Settings) -> int:
    """One that is easy to remember, 8010 after 8000; else any."""
    memorable = range(settings.port + 10, min(settings.port + 100, LAST_PORT), 10)
    for port in memorable:
        with suppress(OSError), bind(settings.host, port):
            return port
    with bind(settings.host, 0) as listener:
        free: int = listener.getsockname()[1]
        return free
