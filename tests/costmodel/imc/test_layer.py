"""What an array spends on a layer: rows in use, what unused parts take, and monotony."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.imc.layer import array_energies, rows_in_use
from nestmap.model import (
    ArrayPart,
    ImcKind,
    InMemoryCompute,
    LayerConstraints,
    OperandLink,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from tests.costmodel.imc.machines import (
    analog,
    arithmetic,
    array_sizes,
    convolution,
    digital,
    imc_machine,
    on_array,
    unrollings,
)
from tests.costmodel.machines import mapped, matmul
from tests.counting import by_reference

NODES = st.floats(min_value=7, max_value=180)
VOLTS = st.floats(min_value=0.7, max_value=1.8)


def energies(spatial: SpatialProblem) -> dict[ArrayPart, float]:
    return {entry.part: entry.energy for entry in array_energies(spatial)}


def assert_no_less(small: SpatialProblem, large: SpatialProblem) -> None:
    more = energies(large)
    for part, energy in energies(small).items():
        assert energy <= more[part] * (1 + 1e-12), part


def unrolled(d1: str, d2: str, sizes: dict[str, int] | None = None) -> SpatialProblem:
    return mapped(convolution(sizes), imc_machine(digital()), {"D1": d1, "D2": d2})


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        ("K 16", "C 8 FX 3", 24),
        ("K 4 OX 4", "C 2 FX 3", 2 * (3 + 4 - 1)),
        ("K 4 OX 4", "FX 3 C 2", (3 + 4 - 1) * 2),
        ("OY 2 OX 4", "FY 2 FX 3", (2 + 2 - 1) * (3 + 4 - 1)),
        ("OX 4", "FX 3", 3 + 4 - 1),  # the reference has no figure for one loop on the rows
        ("OX 4", "FY 3", 3),
        ("OX 4", "C 8", 8),
        ("OX 4", "C 8 FX 1", 8),
        ("OX 4", "FX 1", 1),
        ("OX 2 OX 2", "FX 3", 3 + 4 - 1),
        ("K 8", "C 1", 1),
    ],
)
def test_rows_in_use(columns: str, rows: str, expected: int) -> None:
    assert rows_in_use(unrolled(columns, rows)) == expected


def test_a_batch_does_not_hinder_a_diagonal_mapping() -> None:
    # the reference breaks down on any such loop without a partner
    assert rows_in_use(unrolled("K 4 OX 4", "C 2 FX 3", {"B": 4})) == 12


def test_the_operand_in_the_cells_is_the_weight() -> None:
    """With the image in the cells OX pairs with nothing that the kernel does not depend on."""
    diagonal = unrolled("OX 4", "C 2 FX 3")
    links = (
        OperandLink(operand="I", memory_operand="I2"),
        OperandLink(operand="W", memory_operand="I1"),
    )
    problem = copy_with(diagonal.problem, {"constraints": LayerConstraints(links=links)})
    assert rows_in_use(copy_with(diagonal, {"problem": problem})) == 6
    assert rows_in_use(diagonal) == 12


def test_a_product_of_matrices_is_never_diagonal() -> None:
    spatial = mapped(matmul(k=8, c=16, b=4), imc_machine(analog()), {"D1": "B 4", "D2": "C 16"})
    assert rows_in_use(spatial) == 16


def test_the_reference_does_not_round_activations() -> None:
    whole, ragged = unrolled("K 16", "C 8"), unrolled("K 16", "C 8", {"K": 24})
    for part, energy in energies(whole).items():
        assert energies(by_reference(ragged))[part] == pytest.approx(1.5 * energy, rel=1e-12)


@pytest.mark.parametrize(
    ("d1", "d2", "sizes", "rest"),
    [
        ("K 16", "C 8", {"K": 24}, ("K 8", "C 8")),
        ("K 16", "C 8", {"C": 11}, ("K 16", "C 3")),
        ("K 4 OX 4", "FX 3", {"OX": 6}, ("K 4 OX 2", "FX 3")),  # diagonal
    ],
)
def test_the_last_activation_uses_what_is_left(
    d1: str, d2: str, sizes: dict[str, int], rest: tuple[str, str]
) -> None:
    (name, size), whole = *sizes.items(), unrolled(d1, d2)
    factor = whole.spatial_mapping.factor_of(name)
    full = unrolled(d1, d2, {name: size - size % factor})
    last = unrolled(*rest, {name: size % factor})
    for part, energy in energies(unrolled(d1, d2, sizes)).items():
        assert energy == pytest.approx(energies(full)[part] + energies(last)[part], rel=1e-12)


def test_banks_change_nothing() -> None:
    sizes = {"D1": 16, "D2": 32}
    single = on_array(digital(), sizes, {"D1": "K 16", "D2": "C 8"})
    banked = on_array(digital(), sizes | {"D3": 4}, {"D1": "K 16", "D2": "C 8", "D3": "OX 4"})
    assert energies(single) == energies(banked)


def per_activation(imc: InMemoryCompute, columns: int, rows: int) -> dict[ArrayPart, float]:
    """The energies of 16 x 32 units of which some are in use."""
    layer = matmul(k=16, c=32)
    unrolled = {"D1": f"K {columns}", "D2": f"C {rows}"}
    activations = 16 * 32 / (columns * rows)
    found = energies(mapped(layer, imc_machine(imc), unrolled))
    return {part: energy / activations for part, energy in found.items()}


def test_unused_columns_take_nothing_but_in_multipliers() -> None:
    for imc in (analog(), digital()):
        full, half = per_activation(imc, 16, 32), per_activation(imc, 8, 32)
        for part, energy in full.items():
            rests = part in (ArrayPart.MULTIPLIERS, ArrayPart.DACS)  # DACs belong to rows
            assert half[part] == pytest.approx(energy if rests else energy / 2, rel=1e-12)


def test_unused_rows_of_an_analog_array_load_bit_lines_only() -> None:
    full, half = per_activation(analog(), 16, 32), per_activation(analog(), 16, 16)
    for part, energy in full.items():
        by_row = part in (ArrayPart.MULTIPLIERS, ArrayPart.DACS)
        assert half[part] == pytest.approx(energy / 2 if by_row else energy, rel=1e-12)


def test_unused_rows_of_a_digital_array_spare_adders_only() -> None:
    full, half = per_activation(digital(), 16, 32), per_activation(digital(), 16, 16)
    for part, energy in full.items():
        if part is ArrayPart.ADDER_TREES:
            assert energy / 4 < half[part] < energy
        else:
            assert half[part] == energy


@given(imc=arithmetic(), sizes=array_sizes(), on=unrollings())
def test_energy_does_not_fall_with_precision(
    imc: InMemoryCompute, sizes: dict[str, int], on: dict[str, str]
) -> None:
    here = on_array(imc, sizes, on)
    for field in ("weight_precision", "activation_precision"):
        finer = copy_with(imc, {field: 2 * getattr(imc, field)})
        assert_no_less(here, on_array(finer, sizes, on))
    if imc.kind is ImcKind.ANALOG:
        finer = copy_with(imc, {"adc_resolution": imc.adc_resolution + 1})
        assert_no_less(here, on_array(finer, sizes, on))


@given(imc=arithmetic(), sizes=array_sizes(), on=unrollings(), more=st.integers(1, 9))
def test_energy_does_not_fall_with_the_size_of_the_array(
    imc: InMemoryCompute, sizes: dict[str, int], on: dict[str, str], more: int
) -> None:
    here = on_array(imc, sizes, on)
    rows = sizes["D2"] + more if imc.kind is ImcKind.ANALOG else 2 * sizes["D2"]
    for larger in ({"D1": sizes["D1"] + more}, {"D2": rows}, {"D3": sizes["D3"] + more}):
        assert_no_less(here, on_array(imc, sizes | larger, on))


@given(
    imc=arithmetic(),
    on=unrollings(),
    nodes=st.tuples(NODES, NODES).map(sorted),
    volts=st.tuples(VOLTS, VOLTS).map(sorted),
)
def test_energy_does_not_fall_with_node_and_voltage(
    imc: InMemoryCompute, on: dict[str, str], nodes: list[float], volts: list[float]
) -> None:
    sizes = {"D1": 16, "D2": 32}
    low, high = (
        copy_with(imc, {"technology": node, "supply_voltage": volt})
        for node, volt in zip(nodes, volts, strict=True)
    )
    assert_no_less(on_array(low, sizes, on), on_array(high, sizes, on))
