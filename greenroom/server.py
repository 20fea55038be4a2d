"""Running the app: one process, or a parent that binds the socket and keeps N workers alive.

SIGTERM and SIGINT mean: stop accepting, finish what was accepted, shut down, exit 0. A second one
means now.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FrameType

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from greenroom.kernel.limits import Limits
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.connections.acceptor import Acceptor
from greenroom.platform.http.tls import Certificate, TlsError
from greenroom.platform.http.uvicorn_internals.guard import GuardedProtocol
from greenroom.platform.http.uvicorn_internals.websocket import SocketProtocol
from greenroom.platform.processes.supervisor import PARENT_PIPE_VARIABLE, Supervisor

log = logging.getLogger("greenroom.server")

AppFactory = Callable[[], HttpApp]
"""Called inside the event loop, where connection pools can be made."""

OnReady = Callable[[int], None]
"""Called with the port once connections are accepted."""

BACKLOG = 2048
# Longer than the idle timeout of common load balancers, so that they close first.
KEEP_ALIVE_S = 75

# Young objects are looked at as ever; the third number means: never by itself.
COLLECTOR_THRESHOLDS = (2_000, 10, 1_000_000)
# Every ten minutes, in ticks of a tenth of a second.
FULL_COLLECTION_TICKS = 6000

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve(
    app_factory: AppFactory,
    *,
    host: str,
    port: int,
    workers: int = 1,
    limits: Limits | None = None,
    on_ready: OnReady | None = None,
    certificate: Certificate | None = None,
    worker_command: str = "serve",
) -> int:
    """Serves until told to stop; returns the exit code. Workers run `python -m greenroom …`, and
    read the certificate themselves."""
    if workers == 1:
        return serve_one(
            app_factory,
            host=host,
            port=port,
            limits=limits,
            on_ready=on_ready,
            certificate=certificate,
        )
    return supervise(
        partial(_worker_argv, worker_command),
        host=host,
        port=port,
        workers=workers,
        limits=limits,
        on_ready=on_ready,
        takes_hangup=certificate is not None,
    )


def _worker_argv(command: str, fd: int) -> list[str]:
    return [sys.executable, "-m", "greenroom", command, "--fd", str(fd)]


def serve_one(
    app_factory: AppFactory,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    fd: int | None = None,
    limits: Limits | None = None,
    on_ready: OnReady | None = None,
    certificate: Certificate | None = None,
) -> int:
    """Serves in this process, on `fd` if given (a listening socket that a parent bound)."""
    listener = bind(host, port) if fd is None else socket.socket(fileno=fd)
    server = _Server(_config(app_factory, limits or Limits()), listener, on_ready, certificate)
    try:
        server.run(sockets=[listener])
    except SystemExit:
        # uvicorn's own code for a failed start-up, which the log has told of.
        return 1
    return 1 if server.force_exit else 0


def start_beside(
    app_factory: AppFactory,
    listener: socket.socket,
    *,
    limits: Limits | None = None,
    certificate: Certificate | None = None,
) -> Callable[[], None]:
    """Serves another app, from a thread of its own, until the function that is returned is called.
    Returns when it listens, or has said in the log why it cannot."""
    is_ready = threading.Event()
    server = _Server(
        _config(app_factory, limits or Limits()),
        listener,
        lambda _port: is_ready.set(),
        certificate,
    )

    def run() -> None:
        try:
            server.run(sockets=[listener])
        finally:
            is_ready.set()

    thread = threading.Thread(target=run, name="beside", daemon=True)
    thread.start()
    is_ready.wait()

    def stop() -> None:
        server.should_exit = True
        thread.join()

    return stop


def supervise(
    argv_for_worker: Callable[[int], Sequence[str]],
    *,
    host: str,
    port: int,
    workers: int,
    limits: Limits | None = None,
    on_ready: OnReady | None = None,
    takes_hangup: bool = False,
) -> int:
    """Binds, then runs `argv_for_worker(fd)` as each worker until told to stop. With `takes_hangup`
    SIGHUP is passed on to the workers, which then read their certificate again."""
    grace_s = (limits or Limits()).shutdown_grace_s
    listener = bind(host, port)
    # Listening before there is a worker lets connections wait instead of being refused.
    listener.listen(BACKLOG)
    supervisor = Supervisor(
        argv_for_worker, listener, workers=workers, grace_s=grace_s, takes_hangup=takes_hangup
    )
    if on_ready is not None:
        on_ready(listener.getsockname()[1])
    return supervisor.run()


def spare_the_collector() -> None:
    """A full collection looks at every object there is, and thousands of connections are many: it
    would hold up everybody for a tenth of a second whenever a crowd comes. What was made until now
    stays for good; full collections come at their own time, see `FULL_COLLECTION_TICKS`."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises OSError if the port is taken or is no port of ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # At once, because a port that is only bound can still be taken by another. Who serves on
        # it sets how many may wait.
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def _config(app_factory: AppFactory, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app_factory,
        factory=True,
        loop="uvloop",
        http=GuardedProtocol,
        ws=SocketProtocol,
        ws_max_size=limits.frame_bytes,
        ws_ping_interval=limits.heartbeat_s,
        ws_ping_timeout=limits.silence_s,
        # Deflate takes some 30 kB per connection and lets lengths tell of contents.
        ws_per_message_deflate=False,
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=limits.shutdown_grace_s,
        workers=1,
    )


class _Server(uvicorn.Server):
    """uvicorn's server, except that a signal ends it with success instead of by that signal."""

    def __init__(
        self,
        config: uvicorn.Config,
        listener: socket.socket,
        on_ready: OnReady | None,
        certificate: Certificate | None = None,
    ) -> None:
        super().__init__(config)
        self._certificate = certificate
        self._port: int = listener.getsockname()[1]
        self._on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            # Signals are for the server that is the process's own.
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in _SIGNALS}
        if self._certificate is not None:
            reload = partial(_reload, self._certificate)
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, reload)
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn's, with an acceptor of our own in the place of the event loop's."""
        self._watch_parent()
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        app: HttpApp = self.config.loaded_app
        limits = app.limits
        certificate = self._certificate
        self.servers = []
        for listener in sockets or []:
            acceptor = Acceptor(
                listener,
                self._new_protocol,
                per_s=limits.accepts_per_s,
                at_once=limits.accepts_at_once,
                backlog=BACKLOG,
                tls=None if certificate is None else lambda: certificate.context,
                handshake_s=limits.request_head_s,
                goodbye_s=limits.unread_close_s,
            )
            acceptor.start()
            self.servers.append(acceptor)  # type: ignore[arg-type]
        spare_the_collector()
        self.started = True
        log.info("listening", extra={"port": self._port, "pid": os.getpid()})
        if self._on_ready is not None:
            self._on_ready(self._port)

    def _new_protocol(self) -> asyncio.Protocol:
        return GuardedProtocol(
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            _loop=asyncio.get_running_loop(),
        )

    async def on_tick(self, counter: int) -> bool:
        if counter % FULL_COLLECTION_TICKS == FULL_COLLECTION_TICKS - 1:
            gc.collect()
        return await super().on_tick(counter)

    def _watch_parent(self) -> None:
        """A worker stops when its supervisor is gone, however that ended: the pipe then closes."""
        pipe = os.environ.get(PARENT_PIPE_VARIABLE)
        if pipe is not None:
            asyncio.get_running_loop().add_reader(int(pipe), self._lose_parent, int(pipe))

    def _lose_parent(self, pipe: int) -> None:
        asyncio.get_running_loop().remove_reader(pipe)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app: HttpApp = self.config.loaded_app
        app.begin_drain()
        await super().shutdown(sockets)
        log.info("stopped", extra={"pid": os.getpid()})


def _reload(certificate: Certificate, *_: object) -> None:
    """Handles SIGHUP."""
    try:
        certificate.reload()
    except TlsError as error:
        log.error("the certificate stays as it was: %s", error)
    else:
        log.info("the certificate was read again", extra={"pid": os.getpid()})
