"""Stores as released versions wrote them, and brought up to date; all of them only to be read.

``released/schema_N.duckdb.xz`` is a store as nestmap wrote it when N was its newest schema: light
AlexNet on tpu_like, and on eyeriss_like; from 2 on with data kept on chip, from 3 on with vector
operators counted.
"""

from __future__ import annotations

import lzma
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from nestmap.store import Store

RELEASED: Final = {
    int(path.name.split(".")[0].removeprefix("schema_")): path
    for path in (Path(__file__).parent / "released").iterdir()
}
"""The compressed file of each schema."""

_MADE = TemporaryDirectory(prefix="nestmap-tests-")  # the stores below; gone when tests end


@cache
def released_store(schema: int) -> Path:
    """The store of that schema as it was."""
    path = Path(_MADE.name) / f"{schema}.duckdb"
    path.write_bytes(lzma.decompress(RELEASED[schema].read_bytes()))
    return path


@cache
def current_store(schema: int) -> Path:
    """The store of that schema brought up to date."""
    folder = Path(_MADE.name) / "current"
    folder.mkdir(exist_ok=True)
    path = folder / f"{schema}.duckdb"
    shutil.copyfile(released_store(schema), path)
    Store.open(path).close()
    return path
