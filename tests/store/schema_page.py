"""The generated part of docs/schema.md; ``python -m tests.store.schema_page`` writes it anew."""

from pathlib import Path

from nestmap.store import NamedQuery, Store

PAGE = Path(__file__).parents[2] / "docs" / "schema.md"
MARKER = "<!-- from here on written by tests/store/schema_page.py -->\n"

_RELATIONS = """
SELECT table_name AS name, comment, 'Table' AS kind FROM duckdb_tables() WHERE NOT internal
UNION ALL
SELECT view_name, comment, 'View' FROM duckdb_views() WHERE NOT internal
ORDER BY kind DESC, name
"""
_COLUMNS = """
SELECT column_name AS name, data_type AS type, comment
FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index
"""


def schema_page() -> str:
    """Every query, view and table, as Markdown, out of the comments in the database."""
    with Store.open(None) as store:
        queries = [_query(store, entry) for entry in store.named_queries()]
        relations = [
            _section(store, str(x["kind"]), str(x["name"]), str(x["comment"]))
            for x in store.query(_RELATIONS)
        ]
        return "\n".join([*queries, *relations])


def _query(store: Store, entry: NamedQuery) -> str:
    columns = store.query("DESCRIBE " + entry.sql, [None for _ in entry.parameters])
    names = ", ".join(f"`{x['column_name']}`" for x in columns)
    return f"## Query `{entry}`\n\n{entry.description}.\n\nColumns: {names}.\n"


def _section(store: Store, kind: str, name: str, comment: str) -> str:
    columns = store.query(_COLUMNS, (name,))
    rows = (f"| `{x['name']}` | `{x['type']}` | {x['comment']} |\n" for x in columns)
    return (
        f"## {kind} `{name}`\n\n{comment}.\n\n"
        f"| column | type | meaning |\n| --- | --- | --- |\n{''.join(rows)}"
    )


def write() -> None:
    """Brings the page up to date."""
    head = PAGE.read_text(encoding="utf-8").partition(MARKER)[0]
    PAGE.write_text(head + MARKER + "\n" + schema_page(), encoding="utf-8")


if __name__ == "__main__":
    write()
