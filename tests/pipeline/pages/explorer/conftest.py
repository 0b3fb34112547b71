"""An explorer for the tests of a module."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from tests.pipeline.pages.explorer.stores import two_runs
from tests.pipeline.pages.explorer.visits import Visitor, visiting


class Explored(NamedTuple):
    """A store with a small run and one with nasty names."""

    path: Path
    small: UUID
    nasty: UUID


@pytest.fixture(scope="package")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    """The store."""
    path = tmp_path_factory.mktemp("explored") / "store.duckdb"
    small, nasty = two_runs(path)
    return Explored(path, small, nasty)


@pytest.fixture(scope="package")
def visitor(explored: Explored) -> Iterator[Visitor]:
    """Somebody who asks its explorer."""
    with visiting(explored.path) as visitor:
        yield visitor
