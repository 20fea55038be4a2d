"""One media process for all tests of this folder, and files for it."""

from collections.abc import AsyncIterator

import pytest

from greenroom.files.media.process import MediaProcess

from .stand import Stand


@pytest.fixture(scope="session")
async def media() -> AsyncIterator[MediaProcess]:
    process = MediaProcess()
    yield process
    await process.close()


@pytest.fixture
def stand(media: MediaProcess, tmp_path_factory: pytest.TempPathFactory) -> Stand:
    return Stand(media, tmp_path_factory.mktemp("media"))
