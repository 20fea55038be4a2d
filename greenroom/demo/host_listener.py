"""Where the host page is served: a port beside the server's, in a thread of the same process.

With several workers that is the process that keeps them: it has nothing else to do, and the port
is bound once.
"""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

from greenroom.demo.host_page import HostRest
from greenroom.demo.welcome import server_url
from greenroom.kernel.clock import system_clock
from greenroom.kernel.errors import Unauthenticated
from greenroom.platform.http.app import HttpApp
from greenroom.server import BACKLOG, bind, start_beside
from greenroom.settings import Settings
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
        return server_url(self.settings.host, self.port)

    def let_in(self) -> Settings:
        """The settings with this page's origins allowed. Workers are processes of their own, which
        read them from the environment."""
        ours = (self.url, f"http://127.0.0.1:{self.port}", f"http://localhost:{self.port}")
        origins = tuple(dict.fromkeys((*self.settings.allowed_origins, *ours)))
        os.environ["GREENROOM_ALLOWED_ORIGINS"] = ",".join(origins)
        return replace(self.settings, allowed_origins=origins)

    def start(self, server_port: int) -> None:
        """When the server listens: only then is its port known, which the page must name."""
        origin = server_url(self.settings.host, server_port)
        rest = HostRest(read_files(BUILT), self.settings, system_clock, origin)
        self._stop = start_beside(
            lambda: HttpApp(rest.endpoints(), authenticate=_nobody, limits=self.settings.limits),
            self.listener,
            limits=self.settings.limits,
        )

    def close(self) -> None:
        if self._stop is not None:
            self._stop()
        self.listener.close()


@contextmanager
def host_listener(settings: Settings, port: int | None) -> Iterator[HostListener]:
    """Taken while this is open. Without a wish the port after the server's, or any that is free if
    somebody has that one; a port that was asked for must be there. Raises OSError."""
    listener = HostListener(settings, _bind(settings, port))
    try:
        yield listener
    finally:
        listener.close()


def _bind(settings: Settings, port: int | None) -> socket.socket:
    if port is not None:
        return _listen(settings.host, port)
    beside = settings.port + 1 if 0 < settings.port < LAST_PORT else 0
    try:
        return _listen(settings.host, beside)
    except OSError:
        return _listen(settings.host, 0)


def _listen(host: str, port: int) -> socket.socket:
    """At once, because a port that is only bound can still be taken by another."""
    listener = bind(host, port)
    try:
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


async def _nobody(_header: str | None) -> NoReturn:
    """Every call of the host page is for anyone."""
    raise Unauthenticated
