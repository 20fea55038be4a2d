"""A stage of its own for every test."""

import asyncpg
import pytest

from tests.webhooks.stage import Stage, new_stage


@pytest.fixture
async def stage(pool: asyncpg.Pool) -> Stage:
    return await new_stage(pool)
