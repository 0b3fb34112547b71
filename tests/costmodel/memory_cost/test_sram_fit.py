"""The fit: its errors against CACTI's held-out figures, and that it can be made again."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest
from benchmarks.fit_sram import DATA, Quantity, Row, fit, read

from nestmap.costmodel.memory_cost import fitted_cost, sram_fit
from nestmap.costmodel.memory_cost.terms import FITTED_NODES, Term, total
from nestmap.model import MemoryCost, MemoryMacro

ROWS: Final = read(DATA)
HELD_OUT: Final = tuple(row for row in ROWS if not row.training)
TRAINING: Final = tuple(row for row in ROWS if row.training)

COMMITTED: Final[dict[Quantity, tuple[Term, ...]]] = {
    Quantity.READ: sram_fit.READ_ENERGY,
    Quantity.WRITE: sram_fit.WRITE_ENERGY,
    Quantity.AREA: sram_fit.AREA,
    Quantity.LEAKAGE: sram_fit.LEAKAGE,
}

FIGURES: Final[dict[Quantity, Callable[[MemoryCost], float]]] = {
    Quantity.READ: lambda cost: cost.read_energy,
    Quantity.WRITE: lambda cost: cost.write_energy,
    Quantity.AREA: lambda cost: cost.area,
    Quantity.LEAKAGE: lambda cost: cost.leakage,
}


def macro(row: Row) -> MemoryMacro:
    """A memory as the row has it; which kinds its ports are of makes no difference to the model."""
    return MemoryMacro(
        size=row.size, width=row.width, read_write_ports=row.ports, technology=row.node
    )


def test_no_size_and_width_is_in_both_grids() -> None:
    assert not {row.size for row in TRAINING} & {row.size for row in HELD_OUT}
    assert not {row.width for row in TRAINING} & {row.width for row in HELD_OUT}


def test_both_grids_have_all_nodes_and_ports() -> None:
    for rows in (TRAINING, HELD_OUT):
        assert {row.node for row in rows} == set(FITTED_NODES)
        assert {row.ports for row in rows} == {1, 2, 3, 6}


@pytest.mark.parametrize("node", FITTED_NODES)
@pytest.mark.parametrize("quantity", Quantity)
def test_median_error_on_the_held_out_grid(quantity: Quantity, node: float) -> None:
    rows = [row for row in HELD_OUT if row.node == node]
    assert len(rows) > 100
    said = np.array([FIGURES[quantity](fitted_cost(macro(row))) for row in rows])
    wanted = np.array([row.figures[quantity] for row in rows])
    assert np.median(np.abs(said / wanted - 1)) <= 0.15


def test_what_cacti_knows_is_not_built_of_flip_flops() -> None:
    for row in ROWS:
        cost = fitted_cost(macro(row))
        for quantity, terms in COMMITTED.items():
            assert FIGURES[quantity](cost) == total(terms, row.factors), (row, quantity)


@pytest.mark.parametrize("quantity", Quantity)
def test_no_coefficient_is_negative_or_falls_with_the_node(quantity: Quantity) -> None:
    for term in COMMITTED[quantity]:
        assert min(term.coefficients) >= 0
        assert list(term.coefficients) == sorted(term.coefficients)


@pytest.mark.parametrize("quantity", Quantity)
def test_the_fit_can_be_made_again(quantity: Quantity) -> None:
    again = fit(TRAINING, quantity)
    ours = [total(COMMITTED[quantity], row.factors) for row in HELD_OUT]
    theirs = [total(again, row.factors) for row in HELD_OUT]
    np.testing.assert_allclose(theirs, ours, rtol=1e-3)
