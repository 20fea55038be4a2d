"""Documents name only files, commands and variables that exist; their lists miss none."""

import re
from itertools import chain
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from greenroom import cli
from greenroom.bootstrap import Rooms
from greenroom.conversations.model import EventType
from greenroom.platform.logs import FIELDS
from greenroom.settings import SETTINGS, describe

REPOSITORY = Path(__file__).resolve().parents[2]
PATTERNS = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md", "web/*/README.md")
DOCUMENTS = sorted(chain.from_iterable(REPOSITORY.glob(each) for each in PATTERNS))
NAMES = [str(each.relative_to(REPOSITORY)) for each in DOCUMENTS]

# Roots of the paths that documents name, with and without the package in front.
ROOTS = ("", "greenroom", "web/app/src", "web/app", "web/sdk/src")
PATH = re.compile(r"`([a-z_0-9.-]+(?:/[\w.*-]+)*/?)`")
ENDINGS = ("/", ".py", ".ts", ".md", ".sql", ".toml", ".yaml", ".json", ".lock")
# Folders that are about to be made.
NO_SETTINGS = {"GREENROOM_SEED", "GREENROOM_TORTURE", "GREENROOM_URL"}
STRANGE = re.compile(r"TD-\d|\bapi\.md|\bdomain\.md|\bthe seed's|\bseed's own")


def read(name: str) -> str:
    return (REPOSITORY / name).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    folder = (REPOSITORY / name).parent
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(name))
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (folder / link).exists()] == []


@pytest.mark.parametrize("name", NAMES)
def test_paths_exist(name: str) -> None:
    named = {path for path in PATH.findall(read(name)) if path.endswith(ENDINGS) and "/" in path}
    assert sorted(path for path in named if not exists(path)) == []


def exists(path: str) -> bool:
    plain = path.rstrip("/")
    if any(any((REPOSITORY / root).glob(plain)) for root in ROOTS):
        return True
    # A folder of the room that its row in a table is about.
    return "/" not in plain and any((REPOSITORY / "greenroom").glob(f"*/{plain}"))


@pytest.mark.parametrize("name", NAMES)
def test_commands_exist(name: str) -> None:
    text = cli._parser().format_help()
    known = set(re.findall(r"^    (\w[\w-]*)", text, re.MULTILINE))
    named = re.findall(r"[`/]greenroom ([a-z][a-z-]+)", read(name))
    assert set(named) - known == set()


@pytest.mark.parametrize("name", NAMES)
def test_targets_exist(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", read(name))) - targets == set()


@pytest.mark.parametrize("name", NAMES)
def test_variables_exist(name: str) -> None:
    known = {row["name"] for row in describe({})}
    named = re.findall(r"GREENROOM_[A-Z_]*[A-Z]\b(?!_|…)", read(name))
    assert set(named) - known - NO_SETTINGS == set()


@pytest.mark.parametrize("name", NAMES)
def test_documents_that_are_not_here_are_not_named(name: str) -> None:
    assert STRANGE.findall(read(name)) == []


def test_the_index_leads_to_every_page() -> None:
    index = read("docs/README.md")
    pages = {each.name for each in (REPOSITORY / "docs").glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"({page})" not in index] == []


def test_the_configuration_has_every_variable() -> None:
    page = read("docs/configuration.md")
    assert [each.name for each in SETTINGS if f"`{each.name}`" not in page] == []


def test_the_table_of_events_has_every_type() -> None:
    [table] = re.findall(r"\| type \| nouns \|.*?\n\n", read("docs/realtime.md"), re.DOTALL)
    assert [each for each in EventType if f"`{each}`" not in table] == []


def test_the_table_of_metrics_has_every_metric() -> None:
    # Importing the composition root has loaded every room's.
    assert Rooms.__module__ == "greenroom.bootstrap"
    families = {each.name for each in REGISTRY.collect() if each.name.startswith("greenroom_")}
    row = re.compile(r"^\| `(greenroom_\w+?)(?:_total)?(?:\{|`)", re.MULTILINE)
    assert set(row.findall(read("docs/operations.md"))) == families


def test_the_page_of_logs_has_every_field() -> None:
    page = read("docs/operations.md")
    assert [field for field in FIELDS if not re.search(rf"\b{field}\b", page)] == []
