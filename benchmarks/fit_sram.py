"""Fits the SRAM model to CACTI's figures and writes its coefficients; prints its errors.

``python -m benchmarks.fit_sram`` reads ``benchmarks/data/sram_cacti.csv`` (made by
``benchmarks.cacti_grid``), fits to the rows of the training grid, judges on the held-out grid and
writes ``costmodel/memory_cost/sram_fit.py``. The fit is a least-squares fit of relative errors with
non-negative coefficients (Lawson and Hanson 1974), reweighted towards the least absolute error.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nestmap.costmodel.memory_cost.terms import (
    FITTED_NODES,
    Factors,
    Term,
    port_factors,
    size_factors,
    total,
    width_factors,
)

DATA = Path(__file__).parent / "data" / "sram_cacti.csv"
MODULE = Path(__file__).parent.parent / "costmodel" / "memory_cost" / "sram_fit.py"

ROUNDS = 5
"""Fits, each weighed by the errors of the one before."""

CLOSE = 0.02
"""Relative error below which a row weighs no more for being closer."""

Floats = NDArray[np.float64]


class Quantity(StrEnum):
    """What is fitted, under the name of its column in the data."""

    READ = "read_pj"
    WRITE = "write_pj"
    AREA = "area_mm2"
    LEAKAGE = "leakage_mw"


class Row(NamedTuple):
    """A memory that CACTI has figures for."""

    training: bool
    size: int
    width: int
    ports: int
    node: float
    figures: Mapping[Quantity, float]

    @property
    def factors(self) -> Factors:
        """What the terms are evaluated at."""
        ports = port_factors(self.ports)
        return Factors(size_factors(self.size), width_factors(self.width), ports, self.node)


def read(path: Path) -> tuple[Row, ...]:
    """The rows of the data that have figures."""
    with path.open(newline="") as file:
        return tuple(_row(cells) for cells in csv.DictReader(file) if not cells["failure"])


def _row(cells: Mapping[str, str]) -> Row:
    return Row(
        training=cells["grid"] == "training",
        size=8 * int(cells["size"]),
        width=int(cells["width"]),
        ports=sum(int(cells[kind]) for kind in ("read_write", "read", "write")),
        node=float(cells["node"]),
        figures={quantity: float(cells[quantity]) for quantity in Quantity},
    )


def fit(rows: Sequence[Row], quantity: Quantity) -> tuple[Term, ...]:
    """The terms that come closest to what CACTI says of the quantity.

    Column ``node i`` of a term is 1 from that node on: its coefficient is how much the term grows
    there, and as none is negative, none of the term's coefficients falls with the node.
    """
    design = np.array([_products(row.factors) for row in rows])
    steps = np.array([[row.node >= node for node in FITTED_NODES] for row in rows], dtype=float)
    columns = (design[:, :, None] * steps[:, None, :]).reshape(len(rows), -1)
    wanted = np.array([row.figures[quantity] for row in rows])
    growth = _reweighted(columns, wanted).reshape(-1, len(FITTED_NODES))
    return tuple(_terms(np.cumsum(growth, axis=1)))


def _products(at: Factors) -> list[float]:
    return [size * width * ports for size in at.size for width in at.width for ports in at.ports]


def _terms(coefficients: Floats) -> Iterator[Term]:
    """The terms that have a coefficient, of six digits each."""
    sizes, widths, ports = (len(f) for f in (size_factors(1), width_factors(1), port_factors(1)))
    shape = (sizes, widths, ports)
    for index in np.flatnonzero(coefficients[:, -1] > 0):
        size, width, port = (int(i) for i in np.unravel_index(index, shape))
        a, b, c, d = (float(f"{value:.6g}") for value in coefficients[index])
        yield Term(size, width, port, (a, b, c, d))


def _reweighted(columns: Floats, wanted: Floats) -> Floats:
    weights = 1 / wanted
    scale = (columns * weights[:, None]).max(axis=0)
    scaled = columns / scale
    found = np.zeros(len(scale))
    for _ in range(ROUNDS):
        found = non_negative(scaled * weights[:, None], wanted * weights, found)
        said = scaled @ found
        error = np.abs(np.log(said / wanted))
        weights = 1 / np.sqrt(wanted * said * np.maximum(error, CLOSE))
    unscaled: Floats = found / scale
    return unscaled


def non_negative(columns: Floats, wanted: Floats, start: Floats) -> Floats:
    """The non-negative ``x`` of least ``|columns x - wanted|``, by active sets from ``start``."""
    products, aims = columns.T @ columns, columns.T @ wanted
    free = start > 0
    x = _solved(products, aims, start, free)
    for _ in range(10 * len(aims)):
        slope = np.where(free, -np.inf, aims - products @ x)
        steepest = int(np.argmax(slope))
        if slope[steepest] <= 1e-9 * np.abs(aims).max():
            break
        free[steepest] = True
        x = _solved(products, aims, x, free)
    return x


def _solved(products: Floats, aims: Floats, x: Floats, free: NDArray[np.bool_]) -> Floats:
    """The best ``x`` whose ``free`` ones may be above 0; takes out of ``free`` what reaches 0."""
    while True:
        index = np.flatnonzero(free)
        best = np.zeros(len(x))
        if not len(index):
            return best
        best[index] = np.linalg.solve(products[np.ix_(index, index)], aims[index])
        below = index[best[index] <= 0]
        if not len(below):
            return best
        ratios = x[below] / np.maximum(x[below] - best[below], np.finfo(float).tiny)
        x = x + ratios.min() * (best - x)
        free[below[ratios <= ratios.min()]] = False
        x[~free] = 0


def errors(rows: Sequence[Row], terms: Sequence[Term], quantity: Quantity) -> Floats:
    """The relative error of each row: 0.1 where the model says 10 % more or less than CACTI."""
    said = np.array([total(terms, row.factors) for row in rows])
    wanted = np.array([row.figures[quantity] for row in rows])
    relative: Floats = np.abs(said / wanted - 1)
    return relative


def module(fits: Mapping[Quantity, Sequence[Term]]) -> str:
    """The text of the module of coefficients."""
    lines = [
        '"""The coefficients of the SRAM model; written by benchmarks/fit_sram.py, do not edit."""',
        "",
        "from typing import Final",
        "",
        "from nestmap.costmodel.memory_cost.terms import Term",
    ]
    units = {
        Quantity.READ: ("READ_ENERGY", "Energy of a read in pJ."),
        Quantity.WRITE: ("WRITE_ENERGY", "Energy of a write in pJ."),
        Quantity.AREA: ("AREA", "Area in mm2."),
        Quantity.LEAKAGE: ("LEAKAGE", "Leakage power in mW."),
    }
    for quantity, (name, meaning) in units.items():
        terms = (
            f"    Term({t.size}, {t.width}, {t.ports}, {t.coefficients})," for t in fits[quantity]
        )
        lines += ["", f"{name}: Final = (", *terms, ")", f'"""{meaning}"""']
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fit, print the errors by quantity and node, and write the module."""
    rows = read(DATA)
    training = [row for row in rows if row.training]
    fits = {quantity: fit(training, quantity) for quantity in Quantity}
    print(f"{len(training)} training rows, {len(rows) - len(training)} held out")
    print("| figure | node | median | 90 % of rows below | worst | median on training grid |")
    print("| --- | --- | --- | --- | --- | --- |")
    for quantity, terms in fits.items():
        for node in FITTED_NODES:
            held = errors([r for r in rows if not r.training and r.node == node], terms, quantity)
            known = errors([r for r in training if r.node == node], terms, quantity)
            shares = (np.median(held), np.quantile(held, 0.9), held.max(), np.median(known))
            print(f"| {quantity} | {node:g} nm |", " | ".join(f"{s:.1%}" for s in shares), "|")
    MODULE.write_text(module(fits))


if __name__ == "__main__":
    main()
