"""Serves the host page on a second port, in a thread of the demo's process.

With several workers this is the supervisor's process, so that the port is bound only once.
"""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

from greenroom.demo.host_page import HostRest
from greenroom.kernel.clock import system_clock
from greenroom.kernel.errors import Unauthenticated
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.tls import Certificate
from greenroom.server import bind, start_beside
from greenroom.settings import Settings, server_url
from greenroom.webapp.files import BUILT, read_files

LAST_PORT = 65535


@dataclass(slots=True)
class HostListener:
    settings: Settings
    listener: socket.socket
    _stop: Callable[[], None] | None = field(default=None, init=False)

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return server_url(self.settings, self.port)

    def let_in(self) -> Settings:
        """The settings with this page's origins allowed. Also sets the environment, from which
        worker processes read their settings."""
        here = (replace(self.settings, host=host) for host in ("127.0.0.1", "localhost"))
        ours = (self.url, *(server_url(each, self.port) for each in here))
        origins = tuple(dict.fromkeys((*self.settings.allowed_origins, *ours)))
        os.environ["GREENROOM_ALLOWED_ORIGINS"] = ",".join(origins)
        return replace(self.settings, allowed_origins=origins)

    def start(self, server_port: int, certificate: Certificate | None = None) -> None:
        """Call this when the server listens: the page contains the server's port. The page uses the
        server's certificate, because browsers apply HSTS to every port of a host."""
        origin = server_url(self.settings, server_port)
        rest = HostRest(read_files(BUILT), self.settings, system_clock, origin)
        self._stop = start_beside(
            lambda: HttpApp(rest.endpoints(), authenticate=_nobody, limits=self.settings.limits),
            self.listener,
            limits=self.settings.limits,
            certificate=certificate,
        )

    def close(self) -> None:
        if self._stop is not None:
            self._stop()
        self.listener.close()


@contextmanager
def host_listener(settings: Settings, port: int | None) -> Iterator[HostListener]:
    """Listen on `port`. None: the port after the server's or, if that is taken, any free one.
    Raises OSError if a given port is taken."""
    listener = HostListener(settings, _bind(settings, port))
    try:
        yield listener
    finally:
        listener.close()


def _bind(settings: Settings, port: int | None) -> socket.socket:
    if port is not None:
        return bind(settings.host, port)
    beside = settings.port + 1 if 0 < settings.port < LAST_PORT else 0
    try:
        return bind(settings.host, beside)
    except OSError:
        return bind(settings.host, 0)


async def _nobody(_header: str | None) -> NoReturn:
    """Never called, because every call of the host page is public."""
    raise Unauthenticated
