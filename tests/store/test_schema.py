"""The schema says what everything in it means, and the page about it says the same."""

from tests.store.schema_page import MARKER, PAGE, schema_page


def test_the_page_shows_the_schema() -> None:
    """Where this fails: ``python -m tests.store.schema_page`` writes the page anew."""
    _, marker, shown = PAGE.read_text(encoding="utf-8").partition(MARKER)
    assert marker
    assert shown.strip() == schema_page().strip()


def test_everything_has_a_comment() -> None:
    page = schema_page()
    assert "None" not in page
    for name in ("runs", "workloads", "layers", "accelerators", "spatial_mappings", "evaluations"):
        assert f"`{name}`\n" in page
