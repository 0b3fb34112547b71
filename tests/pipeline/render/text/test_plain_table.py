"""Tables on terminals: what fits, what goes below, and what stands for characters they may lack."""

import pytest

from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Column, Room, Row, Table, bar_column, number_column
from nestmap.pipeline.render.tables.table import table as table_of
from nestmap.pipeline.render.text.plain_table import BAR, table_lines

COLUMNS = (
    Column("Name"),
    number_column("Energy", "J\u00d7cycles"),
    Column("Where from", room=Room.LINE),
    Column("More", room=Room.PAGE),
)


def texts(table: Table, width: int | None = None, most: int | None = None) -> list[str]:
    return [line.text for line in table_lines(table, width, most)]


@pytest.mark.parametrize("width", [None, 5, 80])
def test_a_table_may_have_no_rows(width: int | None) -> None:
    assert "Energy" in texts(table_of(COLUMNS, []), width)[0]


def test_long_texts_go_below_where_a_row_is_too_wide() -> None:
    made = table_of(COLUMNS, [("a", cells.energy(1.5e6), "a distant place", "secret")])
    assert texts(made) == [
        "Name      Energy  Where from",
        "      J x cycles",
        "---------------------------------",
        "a       1.500 uJ  a distant place",
    ]
    assert texts(made, 20) == [
        "Name      Energy",
        "      J x cycles",
        "  Where from",
        "----------------",
        "a       1.500 uJ",
        "  a distant place",
    ]


def test_rows_that_repeat_others_are_left_out_and_parts_are_indented() -> None:
    rows = [Row(cells.texts("a", "1")), Row(cells.texts("b", "2"), depth=1)]
    again = Row(cells.texts("c", "3"), repeats=True)
    made = table_of((Column("Name"), number_column("n")), [*rows, again])
    assert texts(made)[2:] == ["a     1", "  b   2"]


def test_bars_are_drawn_on_one_scale() -> None:
    rows = [("a", cells.bar(0, 1, 4)), ("b", cells.bar(1, 4, 4))]
    first, second = texts(table_of((Column("Name"), bar_column("")), rows))[2:]
    assert first.split() == ["a", "#" * (BAR // 4)]
    assert second == "b   " + " " * (2 + BAR // 4) + "#" * (BAR * 3 // 4)


def test_rows_beyond_the_limit_are_counted() -> None:
    made = table_of((Column("Name"),), [(str(n),) for n in range(5)])
    assert texts(made, most=2)[2:] == ["0", "1", "and 3 more"]
    assert texts(made, most=5)[-1] == "4"
