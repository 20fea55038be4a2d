"""A second server on the sample's database, which a test may kill and start again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from greenroom.bootstrap import jwt_secret
from tests.support.server_process import ServerProcess
from tools.demo import Demo


class SecondServer(ServerProcess):
    """With the sample's people and their tokens, at an address of its own that it keeps."""

    def __init__(self, demo: Demo, database_url: str) -> None:
        secret = jwt_secret(demo.settings).decode()
        given = {"GREENROOM_DATABASE_URL": database_url, "GREENROOM_JWT_SECRET": secret}
        super().__init__(demo.settings.home, given)
        self.start()
        self.demo = replace(demo, url=self.url, log=self.log)


@contextmanager
def second_server(demo: Demo, database_url: str) -> Iterator[SecondServer]:
    server = SecondServer(demo, database_url)
    try:
        yield server
    finally:
        server.end()
