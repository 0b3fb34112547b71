"""A database with the current schema among the user's caches, from which new stores are copied."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb

from nestmap.model.errors import StoreError
from nestmap.model.user_caches import user_caches
from nestmap.store.connection.connect import connect
from nestmap.store.connection.quote import quote_literal, quote_name

_ALIAS: Final = quote_name("schema/template")  # no file can have this name


def cached_template(sql: str) -> Path | None:
    """The file of the empty database that these statements create; created if there is none.

    ``None`` if the user's caches cannot be read or written, or the statements fail.
    """
    caches = user_caches()
    if caches is None:
        return None
    digest = sha256(f"{duckdb.__version__}\n{sql}".encode()).hexdigest()
    file = caches / f"schema-{digest[:16]}.duckdb"
    with suppress(OSError, StoreError, duckdb.Error):
        if not file.exists():
            caches.mkdir(parents=True, exist_ok=True)
            _create(file, sql)
        return file
    return None


def _create(file: Path, sql: str) -> None:
    """Creates a database; the file is complete or absent, whatever other processes do."""
    with TemporaryDirectory(dir=file.parent) as folder:
        part = Path(folder) / file.name
        with closing(connect(part)) as connection:
            connection.execute(sql)
        part.replace(file)


@contextmanager
def attached_template(connection: duckdb.DuckDBPyConnection, template: Path) -> Generator[None]:
    """Attaches a template for the time of the block, to copy it.

    Raises:
        duckdb.Error: if it is damaged.
    """
    connection.execute(f"ATTACH {quote_literal(str(template))} AS {_ALIAS} (READ_ONLY)")
    try:
        yield
    finally:
        connection.execute(f"DETACH {_ALIAS}")


def copy_template(connection: duckdb.DuckDBPyConnection) -> None:
    """Copies the schema of the attached template into the database, which is empty.

    Raises:
        duckdb.Error: if the template is damaged, or the database cannot be written.
    """
    into: list[tuple[str]] = connection.execute("SELECT current_database()").fetchall()
    connection.execute(f"COPY FROM DATABASE {_ALIAS} TO {quote_name(into[0][0])} (SCHEMA)")
