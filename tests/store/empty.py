"""Empty stores."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from nestmap.store import Store


def write_empty_store(path: Path) -> None:
    """An empty store in a new file: a copy, which takes a tenth of the time of making one."""
    path.write_bytes(_empty())


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.duckdb"
        Store.open(path).close()
        return path.read_bytes()
