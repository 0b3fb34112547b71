"""Specifications of charts read back."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from nestmap.pipeline.render.charts import Chart

Row = Mapping[str, float]
"""Numbers; ``kind`` is a text."""
EXPRESSIONS: Final = ("expr", "calculate", "labelExpr", "test", "filter", "zoom")
"""What in a specification is run by the page."""


def spec_of(chart: Chart) -> Mapping[str, object]:
    """The specification."""
    return cast(Mapping[str, object], json.loads(chart.spec))


def rows_of(chart: Chart, table: str) -> Sequence[Row]:
    """A table of its data."""
    return cast(Mapping[str, Sequence[Row]], spec_of(chart)["datasets"])[table]


def constants(chart: Chart) -> Mapping[str, list[str]]:
    """The constants of its expressions."""
    parameters = cast(Sequence[Mapping[str, object]], spec_of(chart)["params"])
    found = {str(x["name"]): x.get("value") for x in parameters}
    return {name: cast(list[str], value) for name, value in found.items() if value}


def bars_of(chart: Chart) -> Mapping[tuple[str, str], float]:
    """The lengths of all bars, by what they are of and part."""
    names, parts = constants(chart)["names"], constants(chart)["parts"]
    return {
        (names[int(row["row"])], parts[int(row["part"])]): row["value"]
        for row in rows_of(chart, "bars")
    }


def expressions(value: object) -> Iterator[str]:
    """All expressions in a specification."""
    if isinstance(value, dict):
        for name, inner in cast(Mapping[str, object], value).items():
            if name in EXPRESSIONS and isinstance(inner, str):
                yield inner
            yield from expressions(inner)
    if isinstance(value, list):
        for inner in cast(Sequence[object], value):
            yield from expressions(inner)
