"""SRAM and register files: never falling, continuous, right sizes of figures, refusals."""

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.memory_cost.sram import SMALLEST_SRAM, fitted_cost
from nestmap.costmodel.technology import UnknownNodeError
from nestmap.model import MemoryCost, MemoryMacro

ROUNDING: Final = 1e-12
"""By how much, relatively, floating point may make a figure fall."""

LARGEST: Final = 1 << 40
"""128 GiB: far beyond the grid."""

FIGURES: Final[dict[str, Callable[[MemoryCost], float]]] = {
    "read energy": lambda cost: cost.read_energy,
    "write energy": lambda cost: cost.write_energy,
    "area": lambda cost: cost.area,
    "leakage": lambda cost: cost.leakage,
}


def macro(size: int, width: int, node: float = 22.0, rw: int = 1) -> MemoryMacro:
    return MemoryMacro(size=size, width=width, read_write_ports=rw, technology=node)


def changed(macro: MemoryMacro, field: str, value: float) -> MemoryMacro:
    return MemoryMacro.model_validate(macro.model_dump() | {field: value})


def falls(before: MemoryMacro, after: MemoryMacro) -> dict[str, tuple[float, float]]:
    """The figures that are less after than before."""
    costs = fitted_cost(before), fitted_cost(after)
    both = {name: (figure(costs[0]), figure(costs[1])) for name, figure in FIGURES.items()}
    return {name: (a, b) for name, (a, b) in both.items() if b < a * (1 - ROUNDING)}


@st.composite
def macros(draw: st.DrawFn) -> MemoryMacro:
    """Memories of a bit to 128 GiB, half of them around the border to register files."""
    largest = draw(st.sampled_from((2 * SMALLEST_SRAM, LARGEST)))
    size = draw(st.integers(1, largest))
    read_write = draw(st.integers(0, 4))
    return MemoryMacro(
        size=size,
        width=draw(st.integers(1, min(size, 1 << 14))),
        read_ports=draw(st.integers(0 if read_write else 1, 4)),
        write_ports=draw(st.integers(0 if read_write else 1, 4)),
        read_write_ports=read_write,
        technology=draw(st.floats(7, 180)),
    )


@given(macro=macros())
def test_every_figure_is_positive(macro: MemoryMacro) -> None:
    assert all(figure(fitted_cost(macro)) > 0 for figure in FIGURES.values())


@given(macro=macros(), more=st.integers(1, LARGEST))
def test_nothing_falls_with_size(macro: MemoryMacro, more: int) -> None:
    assert not falls(macro, changed(macro, "size", macro.size + more))


@given(macro=macros(), more=st.integers(1, SMALLEST_SRAM))
def test_nothing_falls_with_a_little_more_size(macro: MemoryMacro, more: int) -> None:
    assert not falls(macro, changed(macro, "size", macro.size + more))


@given(macro=macros(), share=st.floats(0, 1))
def test_nothing_falls_with_width(macro: MemoryMacro, share: float) -> None:
    wider = macro.width + int((macro.size - macro.width) * share)
    assert not falls(macro, changed(macro, "width", wider))


@given(
    macro=macros(),
    kind=st.sampled_from(("read_ports", "write_ports", "read_write_ports")),
    more=st.integers(1, 8),
)
def test_nothing_falls_with_ports(macro: MemoryMacro, kind: str, more: int) -> None:
    ports: int = getattr(macro, kind)
    assert not falls(macro, changed(macro, kind, ports + more))


@given(macro=macros(), share=st.floats(0, 1))
def test_nothing_falls_with_the_node(macro: MemoryMacro, share: float) -> None:
    larger = min(180.0, macro.technology + (180 - macro.technology) * share)
    assert not falls(macro, changed(macro, "technology", larger))


@given(width=st.integers(1, SMALLEST_SRAM - 1), ports=st.integers(1, 6), node=st.floats(7, 180))
def test_register_files_go_over_into_srams(width: int, ports: int, node: float) -> None:
    below, at = (
        fitted_cost(macro(size, width, node, ports)) for size in (SMALLEST_SRAM - 1, SMALLEST_SRAM)
    )
    for name, figure in FIGURES.items():
        assert figure(below) == pytest.approx(figure(at), rel=2 / SMALLEST_SRAM), name


@pytest.mark.parametrize("node", [22.0, 32.0, 45.0, 65.0])
def test_going_over_a_fitted_node_is_no_jump(node: float) -> None:
    costs = [fitted_cost(macro(1 << 18, 64, node * (1 + d))) for d in (-1e-9, 0.0, 1e-9)]
    for name, figure in FIGURES.items():
        below, at, above = (figure(cost) for cost in costs)
        assert below == pytest.approx(at, rel=1e-6), name
        assert above == pytest.approx(at, rel=1e-6), name


def test_a_register_takes_the_energy_of_its_flip_flops_and_little_more() -> None:
    at_40 = fitted_cost(macro(8, 8, 40.0))
    assert 8 * 8.999e-3 <= at_40.read_energy <= 1.1 * 8 * 8.999e-3


@given(width=st.integers(1, 4096), words=st.integers(1, 3), node=st.floats(22, 65))
def test_a_few_wide_words_take_no_more_than_flip_flops(width: int, words: int, node: float) -> None:
    cost = fitted_cost(macro(width * words, width, node))
    bit = fitted_cost(macro(1, 1, node))
    assert cost.read_energy <= width * words * bit.read_energy * (1 + ROUNDING)
    assert cost.area <= width * words * bit.area * (1 + ROUNDING)


def test_energies_are_of_the_published_magnitude() -> None:
    # Horowitz, ISSCC 2014 (45 nm): 64 bits of an 8 KiB cache take 10 pJ, of a 32 KiB one 20 pJ
    small, large = (fitted_cost(macro(kib << 13, 64, 45.0)).read_energy for kib in (8, 32))
    assert 10 / 3 < small < 30
    assert 20 / 3 < large < 60


@pytest.mark.parametrize("node", [5.0, 6.99, 180.1, 250.0])
def test_an_unknown_node_is_refused(node: float) -> None:
    with pytest.raises(UnknownNodeError, match=f"unknown technology node {node:g} nm; expected 7 "):
        fitted_cost(macro(1 << 13, 8, node))
