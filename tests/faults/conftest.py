"""What many tests of faults share: it takes a second or more to start."""

from collections.abc import Generator

import pytest

from tests.faults.forks import Forks, forks
from tests.faults.kills import Explorer, explorer


@pytest.fixture(name="forks", scope="session")
def _forks() -> Generator[Forks]:
    """Runs commands in processes that need not import nestmap."""
    with forks() as running:
        yield running


@pytest.fixture(scope="session")
def exploring() -> Generator[Explorer]:
    """Explores in processes that can be killed."""
    with explorer() as process:
        yield process
