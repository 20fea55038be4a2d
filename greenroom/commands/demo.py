"""`greenroom demo`: the server with a sample marketplace."""

import argparse
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from greenroom.bootstrap import Rooms, database, http_app
from greenroom.commands.failures import UsageError
from greenroom.commands.serving import (
    certificate,
    check_address,
    explained_if_taken,
    with_options,
)
from greenroom.demo.bulk import load_bulk
from greenroom.demo.crowd import MESSAGES_PER_THREAD, Bulk
from greenroom.demo.host_listener import HostListener, host_listener
from greenroom.demo.rest import DemoRest
from greenroom.demo.sample import load_sample
from greenroom.demo.welcome import Sample, contents, describe_sample, welcome
from greenroom.doctor import signing_secret
from greenroom.platform.http.app import HttpApp
from greenroom.platform.logs import configure_logging
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.server import serve, serve_one
from greenroom.settings import Settings, server_url
from greenroom.webapp.files import BUILT, read_files


def demo(args: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    if args.fd is not None:
        with database(settings) as url:
            return serve_one(
                lambda: _app(settings, url),
                fd=args.fd,
                limits=settings.limits,
                certificate=certificate(settings),
            )
    settings = with_options(args, settings)
    bulk = _bulk(args)
    if args.load_only:
        signing_secret(settings)
        with database(settings) as url:
            print(f"loaded: {contents(_load(settings, url, args.seed, bulk))}")
        return 0
    check_address(settings)
    tls = certificate(settings)
    signing_secret(settings)
    with ExitStack() as stack:
        stack.enter_context(explained_if_taken(settings))
        page = None if args.no_host_page else stack.enter_context(_host_page(args, settings))
        if settings.database_url is None and not (settings.home / "postgres").exists():
            print(f"making a PostgreSQL in {settings.home / 'postgres'} (once)", flush=True)
        allowed = settings if page is None else page.let_in()
        url = stack.enter_context(database(allowed))
        sample = _load(settings, url, args.seed, bulk)

        def greet(port: int) -> None:
            if page is not None:
                page.start(port, tls)
            print(
                welcome(
                    *(sample, server_url(settings, port)),
                    host_page=None if page is None else page.url,
                    is_built="index.html" in read_files(BUILT),
                ),
                flush=True,
            )

        return serve(
            lambda: _app(allowed, url),
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            limits=settings.limits,
            on_ready=greet,
            certificate=tls,
            worker_command="demo",
        )


def _host_page(
    args: argparse.Namespace, settings: Settings
) -> AbstractContextManager[HostListener]:
    port = args.host_port
    if port:
        check_address(replace(settings, port=port), "--host-port")
    return host_listener(settings, port)


def _load(settings: Settings, url: str, seed: int, bulk: Bulk | None) -> Sample:
    run_until_sigterm(migrate(url, progress=lambda name: print(f"migrated {name}")))
    run_until_sigterm(load_sample(settings, url, seed=seed))
    if bulk is not None and not run_until_sigterm(load_bulk(settings, url, bulk)):
        print(f"the messages of --seed {seed} are there already; another seed adds more")
    return run_until_sigterm(describe_sample(settings, url))


def _bulk(args: argparse.Namespace) -> Bulk | None:
    if args.messages is None:
        if args.threads is not None:
            raise UsageError("--threads goes with --messages.")
        return None
    threads = args.threads or max(1, args.messages // MESSAGES_PER_THREAD)
    if threads > args.messages:
        raise UsageError("a thread has at least one message: --threads is at most --messages.")
    return Bulk(args.seed, args.messages, threads)


def _app(settings: Settings, url: str) -> HttpApp:
    rooms = Rooms(settings, url)
    return http_app(rooms, extra=DemoRest(settings, rooms.clock).endpoints())
