"""Texts as parts of SQL statements."""

from __future__ import annotations


def quote_literal(text: str) -> str:
    """The text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(text: str) -> str:
    """The text as an SQL identifier."""
    return '"' + text.replace('"', '""') + '"'
