"""Whoever asks PostgreSQL more than once for one purpose does so in a snapshot or a transaction.

`tests/api/test_matrix.py` holds the same for every call of the API while it runs; this reads the
source, so that it also holds for commands, exports and whatever runs by itself.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import greenroom

SOURCE = Path(greenroom.__file__).parent
ASKS = {"fetch", "fetchrow", "fetchval", "cursor"}
WITHOUT = {
    # A look at the epoch, and then a change.
    "conversations/postgres/feeds.py": {"_acknowledge"},
    # One of two changes.
    "presence/postgres/store.py": {"set_typing"},
    # A decision that was not made, and then why.
    "conversations/postgres/decisions.py": {"decide_promotion"},
    # Lanes are taken, and then their first deliveries are read as they are by then.
    "webhooks/sending.py": {"_take"},
}
"""Functions that ask outside of one, by file, each with its reason."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def asks_of(function: Function) -> Iterator[str]:
    """The receivers of what a function asks, as they are written; not those of functions in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function | ast.Lambda):
            continue
        waiting.extend(ast.iter_child_nodes(node))
        func = node.func if isinstance(node, ast.Call) else None
        if isinstance(func, ast.Attribute) and func.attr in ASKS:
            yield ast.unparse(func.value)


def loans_of(function: Function) -> set[str]:
    """Connections that it takes from a pool without beginning a transaction on them."""
    loans = set()
    for node in ast.walk(function):
        if isinstance(node, ast.AsyncWith):
            begins = any(".transaction(" in ast.unparse(item) for item in node.items)
            loans |= {
                ast.unparse(item.optional_vars)
                for item in node.items
                if item.optional_vars is not None
                and ast.unparse(item.context_expr).endswith("pool.acquire()")
                and not begins
            }
    return loans


def loose_of(path: Path) -> set[str]:
    """Names of functions that ask a pool, or a connection on loan, more than once."""
    loose = set()
    for function in functions_of(ast.parse(path.read_text(encoding="utf-8"))):
        loans = loans_of(function)
        asked = [each for each in asks_of(function) if each.endswith("pool") or each in loans]
        if len(asked) > 1:
            loose.add(function.name)
    return loose


def test_nobody_asks_twice_outside_of_a_snapshot() -> None:
    found = {str(path.relative_to(SOURCE)): loose_of(path) for path in SOURCE.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == WITHOUT


def test_the_reader_of_the_source_finds_both_ways_of_asking_twice(tmp_path: Path) -> None:
    path = tmp_path / "reader.py"
    path.write_text(
        """
async def by_pool(self):
    return await self._pool.fetch(A), await self._pool.fetchval(B)

async def on_loan(pool):
    async with pool.acquire() as conn:
        return await conn.fetch(A), await conn.fetch(B)

async def right(pool):
    async with snapshot(pool) as conn:
        return await conn.fetch(A), await conn.fetch(B)

async def also_right(pool):
    async with pool.acquire() as conn, conn.transaction():
        return await conn.fetch(A), await conn.fetch(B)
""",
        encoding="utf-8",
    )
    assert loose_of(path) == {"by_pool", "on_loan"}
