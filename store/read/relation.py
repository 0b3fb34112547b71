"""The result of a query, as rows, models or data frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeVar, cast, final

import pyarrow as pa
from pydantic import BaseModel, ValidationError

from nestmap.model import StoreError
from nestmap.model.display import html

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, object]
"""A row: values by column. Lists are lists, structs are dicts, sums of integers are int."""

M = TypeVar("M", bound=BaseModel)

_SHOWN: Final = 10
_WIDEST: Final = 40


class _Pandas(Protocol):
    """An object with ``to_pandas``, whose type pyarrow leaves incomplete."""

    def to_pandas(self) -> pd.DataFrame: ...


@final
@dataclass(frozen=True, eq=False, repr=False)
class Relation:
    """The result of a query; a sequence of rows, in the order of the query.

    Energies are in pJ and latencies in cycles in all views and named queries of nestmap.

    >>> import pyarrow as pa
    >>> Relation(pa.table({"layer": ["a", "b"], "energy": [1.5, 20.0]}))
    layer  energy
    a         1.5
    b          20
    (2 rows)
    """

    table: pa.Table

    _repr_html_ = html

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; repeated names get a number as suffix."""
        return unique_names(self.table.column_names)

    def __len__(self) -> int:
        return self.table.num_rows

    def __iter__(self) -> Iterator[Row]:
        names = self.columns
        for batch in self.table.to_batches(max_chunksize=4096):
            columns = [_values(batch, i) for i in range(batch.num_columns)]
            for row in zip(*columns, strict=True):
                yield dict(zip(names, row, strict=True))

    def rows(self) -> list[Row]:
        """All rows. UUIDs are text; times are UTC without a time zone, as in the store."""
        return list(self)

    def models(self, model: type[M]) -> tuple[M, ...]:
        """Each row as an instance of ``model``, whose fields are the columns.

        UUIDs, enums, tuples and nested models are converted.

        Raises:
            StoreError: if a column is missing, unknown, or holds a value that its field rejects.
        """
        _check_columns(model, self.columns)
        return tuple(_model(model, row, number) for number, row in enumerate(self, start=1))

    def arrow(self) -> pa.Table:
        """An Arrow table, without a copy."""
        return self.table.rename_columns(list(self.columns))

    def pandas(self) -> pd.DataFrame:
        """A pandas data frame; integers of more than 64 bits, such as sums, become floats.

        Raises:
            StoreError: if pandas is not installed.
        """
        _check_installed("pandas")
        table = self.arrow()
        kinds = [pa.float64() if _is_integer(kind) else kind for kind in table.schema.types]
        wanted = pa.schema(list(zip(table.column_names, kinds, strict=True)))
        return cast("_Pandas", table.cast(wanted)).to_pandas()

    def polars(self) -> object:
        """A polars ``DataFrame``; typed as ``object``, because polars is optional.

        Raises:
            StoreError: if polars is not installed.
        """
        _check_installed("polars")
        from_arrow = import_module("polars").from_arrow
        return cast("object", from_arrow(self.arrow()))

    def __repr__(self) -> str:
        if not self.columns:
            return "(no columns)"
        head = Relation(self.table.slice(0, _SHOWN))
        cells = [
            [_clip(x) for x in self.columns],
            *([cell_text(x) for x in row.values()] for row in head),
        ]
        numbers = [is_number(column.type) for column in self.table.columns]
        lines = _align(cells, numbers)
        return "\n".join([*lines, f"({self.size_text(_SHOWN)})"])

    def size_text(self, shown: int) -> str:
        """How many rows there are, and that the first ``shown`` ones are shown if not all are."""
        rows = len(self)
        note = f"{rows:,} row{'s' * (rows != 1)}"
        return note + (f"; the first {shown} are shown" if rows > shown else "")


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with a number as suffix of repeated names."""
    found: list[str] = []
    for name in names:
        candidate, number = name, 2
        while candidate in found:
            candidate, number = f"{name}_{number}", number + 1
        found.append(candidate)
    return tuple(found)


def _values(batch: pa.RecordBatch, column: int) -> list[object]:
    values = cast("list[object]", batch.column(column).to_pylist())
    simple = not _holds_decimals(batch.schema.types[column])
    return values if simple else [_as_int(value) for value in values]


def _holds_decimals(kind: pa.DataType) -> bool:
    return "decimal" in str(kind)


def _as_int(value: object) -> object:
    """The value with integers as ``int`` where DuckDB has an integer type that Arrow lacks."""
    match value:
        case Decimal() if value.as_tuple().exponent == 0:
            return int(value)
        case list():
            return [_as_int(item) for item in cast("list[object]", value)]
        case dict():
            return {key: _as_int(item) for key, item in cast("Row", value).items()}
        case tuple():  # an entry of a map
            return tuple(_as_int(item) for item in cast("tuple[object, ...]", value))
        case _:
            return value


def _is_integer(kind: pa.DataType) -> bool:
    return pa.types.is_decimal(kind) and cast("pa.Decimal128Type[int, int]", kind).scale == 0


def is_number(kind: pa.DataType) -> bool:
    """Whether values of the type are numbers."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _check_columns(model: type[BaseModel], columns: Sequence[str]) -> None:
    """Compares names only, so that results without rows are checked too."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    have, want = ", ".join(columns) or "none", ", ".join(fields)
    for name, field in fields.items():
        if field.is_required() and name not in columns:
            raise StoreError(
                f"column {name}: found only {have}; expected what {model.__name__} needs: {want}"
            )
    if model.model_config.get("extra") == "forbid":
        for name in columns:
            if name not in fields:
                raise StoreError(
                    f"column {name}: found in the answer; expected only fields of "
                    f"{model.__name__}: {want}"
                )


def _model(model: type[M], row: Row, number: int) -> M:
    try:
        return model.model_validate(row, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "(all)"
        raise StoreError(
            f"column {place}, row {number}: found {_clip(repr(first['input']))}; expected what "
            f"{model.__name__} takes: {first['msg']}"
        ) from None


def _check_installed(package: Literal["pandas", "polars"]) -> None:
    if find_spec(package) is None:
        raise StoreError(f"{package} is not installed; expected it: pip install {package}")


def _align(rows: list[list[str]], numbers: Sequence[bool]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(numbers))]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in rows
    ]


def cell_text(value: object, widest: int = _WIDEST) -> str:
    """A value as printable text of at most ``widest`` characters."""
    return _clip(_text(value), widest)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, cast('list[object]', value)))}]"
    if isinstance(value, dict):
        return " ".join(map(_text, cast("Row", value).values()))
    return "" if value is None else str(value)


def _clip(text: str, widest: int = _WIDEST) -> str:
    line = "".join(x if x.isprintable() else repr(x)[1:-1] for x in text)
    return line if len(line) <= widest else line[: widest - 3] + "..."
