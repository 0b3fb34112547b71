"""The table of checks on the page of errors is what the tests find."""

from tests.docs_pages.checks_page import drawn_tables, tables


def test_the_tables_are_up_to_date() -> None:
    assert drawn_tables() == tables(), "python -m tests.docs_pages.checks_page writes them"
