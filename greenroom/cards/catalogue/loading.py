"""Loads every type of card: from the files in `types/`, and from the marketplace's own folder."""

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import msgspec

from greenroom.cards import guards, predicates, rules
from greenroom.cards.catalogue.checks import faults_of
from greenroom.cards.catalogue.files import TypeFile, build, read_file
from greenroom.cards.catalogue.schemas import SchemaError
from greenroom.cards.effects import documents as effects_documents
from greenroom.cards.effects import money as effects_money
from greenroom.cards.effects import proofs as effects_proofs
from greenroom.cards.effects import times as effects
from greenroom.cards.model import CardType
from greenroom.cards.registry import Effect, Guard, Registry, collect
from greenroom.kernel.errors import CardInvalid

BUILT_IN = Path(__file__).parents[1] / "types"
BUILT_IN_MODULES = (
    predicates,
    rules,
    guards,
    effects,
    effects_money,
    effects_documents,
    effects_proofs,
)
EFFECTS_FILE = "effects.py"
MOST_TYPES = 200


class CatalogueError(Exception):
    """The server cannot start with a file of the catalogue. Says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    types: Mapping[str, CardType]
    registry: Registry

    def type(self, name: str) -> CardType:
        found = self.types.get(name)
        if found is None:
            raise CardInvalid("There is no card type of this name.")
        return found

    def effect(self, name: str) -> Effect:
        return self.registry.effects[name]

    def guard(self, name: str) -> Guard:
        return self.registry.guards[name]


def load_catalogue(folder: Path | None = None) -> Catalogue:
    """The built-in types, and those of a marketplace's folder. Raises CatalogueError."""
    own_modules = [] if folder is None else _own_modules(folder)
    try:
        registry = collect([*BUILT_IN_MODULES, *own_modules])
    except ValueError as error:
        raise CatalogueError(
            f"{folder}/{EFFECTS_FILE}: the name `{error}` is taken by something built in: rename it"
        ) from None
    types = _load(BUILT_IN, registry, {})
    if folder is not None:
        types = _load(folder, registry, types)
    return Catalogue(types, registry)


def _own_modules(folder: Path) -> list[ModuleType]:
    if not folder.is_dir():
        raise CatalogueError(f"{folder}: not a folder: make it, or do not set GREENROOM_CARDS")
    path = folder / EFFECTS_FILE
    if not path.exists():
        return []
    spec = importlib.util.spec_from_file_location("greenroom_cards_effects", path)
    if spec is None or spec.loader is None:
        raise CatalogueError(f"{path}: cannot be read as Python: correct or remove it")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CatalogueError(f"{path}: {type(error).__name__}: {error}: correct it") from error
    return [module]


def _load(folder: Path, registry: Registry, known: Mapping[str, CardType]) -> dict[str, CardType]:
    types = dict(known)
    for path in sorted(folder.glob("*.toml")):
        file = _read(path)
        if file.type in types:
            raise CatalogueError(f"{path}: there is a type `{file.type}` already: rename this one")
        types[file.type] = _build(path, file, registry)
    if len(types) > MOST_TYPES:
        raise CatalogueError(f"{folder}: more than {MOST_TYPES} types of cards: remove some")
    return types


def _read(path: Path) -> TypeFile:
    try:
        file = read_file(path.read_bytes())
    except (msgspec.DecodeError, OSError) as error:
        raise CatalogueError(f"{path}: {error}: correct it; docs/cards.md lists the keys") from None
    if file.type != path.stem:
        raise CatalogueError(f"{path}: says type = `{file.type}`: name the file {file.type}.toml")
    return file


def _build(path: Path, file: TypeFile, registry: Registry) -> CardType:
    for fault in faults_of(file, registry):
        raise CatalogueError(f"{path}: {fault}")
    try:
        return build(file, registry)
    except SchemaError as error:
        raise CatalogueError(f"{path}: {error}") from None


def in_locale(labels: Mapping[str, str], locale: str) -> str:
    return labels.get(locale) or labels["en"]


def locales_of(types: Iterable[CardType]) -> frozenset[str]:
    return frozenset(locale for each in types for locale in each.title)
