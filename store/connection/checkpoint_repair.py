"""Repair of store files whose process was killed during a DuckDB checkpoint.

A checkpoint of DuckDB (observed with 2.0.0) rewrites metadata blocks in place: their used part is
unchanged and more is appended. If the process is killed in the middle of a block, only the checksum
of the block is wrong.
"""

import os
import re
import struct
from contextlib import closing
from pathlib import Path

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import connect_read_only

_TORN = re.compile(r"computed checksum (\d+) does not match .* in block at location (\d+)")
_HEADERS = 12_288
_METADATA = "SELECT block_id FROM pragma_metadata_info()"
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal"


def repair_checkpoint(path: Path) -> None:
    """Corrects the checksums of torn metadata blocks, or leaves the file as it is.

    Applies only if there is a log of changes not yet checkpointed, and only to blocks that hold
    metadata: other blocks are written once, so a wrong checksum there means wrong content.
    """
    if not path.with_name(path.name + ".wal").exists() or not os.access(path, os.W_OK):
        return
    before: dict[int, bytes] = {}
    try:
        while torn := _first_torn(path, before):
            place, checksum = torn
            before[place] = _replace_checksum(path, place, checksum)
    except StoreError:  # it has another fault, or another process has it open
        for place, checksum in before.items():
            _replace_checksum(path, place, checksum)


def _first_torn(path: Path, mended: dict[int, bytes]) -> tuple[int, bytes] | None:
    """The offset of the first torn block and the checksum of its content, if there is such a block.

    Raises:
        StoreError: if the file has any other fault.
    """
    try:
        with closing(connect_read_only(path)) as connection:
            _read_metadata(connection, path, mended)
    except (StoreError, duckdb.Error) as error:
        torn = _TORN.search(str(error))
        if torn is None or (place := int(torn[2])) < _HEADERS or place in mended:
            raise StoreError(str(error)) from None
        return place, struct.pack("<Q", int(torn[1]))
    return None


def _read_metadata(
    connection: duckdb.DuckDBPyConnection, path: Path, mended: dict[int, bytes]
) -> None:
    """Reads all metadata, which DuckDB otherwise reads only when it is needed."""
    tables: list[tuple[str]] = connection.execute(_TABLES).fetchall()
    for (table,) in tables:
        connection.execute("SELECT count(*) FROM pragma_storage_info(?)", [table]).fetchall()
    rows: list[tuple[int]] = connection.execute(_METADATA).fetchall()
    sizes: list[tuple[int]] = connection.execute(
        "SELECT block_size FROM pragma_database_size()"
    ).fetchall()
    metadata = {_HEADERS + block * sizes[0][0] for (block,) in rows}
    if not mended.keys() <= metadata:
        raise StoreError(f"store {path}: a block of data is damaged")


def _replace_checksum(path: Path, place: int, checksum: bytes) -> bytes:
    """Writes the checksum of a block and returns the previous one."""
    with path.open("r+b") as file:
        file.seek(place)
        before = file.read(len(checksum))
        file.seek(place)
        file.write(checksum)
    return before
