"""The OpenAPI document passes strict validators and client generators."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.support.api import Api

pytestmark = pytest.mark.parametrize("conversations", ["postgres"], indirect=True, scope="module")


async def test_document_is_valid(api: Api) -> None:
    OpenAPIV31SpecValidator((await api.anonymous.get("/openapi.json")).json()).validate()


async def test_strict_generator_makes_a_client_that_python_compiles(
    api: Api, tmp_path: Path
) -> None:
    document = (await api.anonymous.get("/openapi.json")).json()
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    (tmp_path / "config.json").write_text('{"post_hooks": []}')
    generator = Path(sys.executable).with_name("openapi-python-client")
    for command in (
        [
            *(str(generator), "generate", "--path", "openapi.json", "--config", "config.json"),
            *("--output-path", "client", "--meta", "none", "--fail-on-warning"),
        ],
        [sys.executable, "-m", "compileall", "-q", "client"],
    ):
        made = subprocess.run(  # noqa: ASYNC221 (a test may wait)
            command, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, made.stdout + made.stderr
