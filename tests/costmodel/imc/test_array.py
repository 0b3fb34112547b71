"""Figures of an array: area, clock, peak performance."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.imc.array import (
    array_areas,
    array_delays,
    clock_period,
    macro_of,
    peak_energies,
    peak_performance,
)
from nestmap.costmodel.imc.layer import array_energies
from nestmap.model import Accelerator, ArrayPart, InMemoryCompute
from nestmap.model.base import copy_with
from tests.costmodel.imc.machines import (
    MACRO,
    analog,
    arithmetic,
    array_sizes,
    cells_of,
    convolution,
    digital,
    imc_machine,
)
from tests.costmodel.machines import machine, mapped, memory


def areas(accelerator: Accelerator) -> dict[str, float]:
    return {entry.part: entry.area for entry in array_areas(accelerator)}


def energies(accelerator: Accelerator) -> dict[ArrayPart, float]:
    return {entry.part: entry.energy for entry in peak_energies(accelerator)}


@pytest.mark.parametrize("imc", [analog(), digital()])
def test_parts_are_named(imc: InMemoryCompute) -> None:
    machine = imc_machine(imc)
    everything = [part.value for part in ArrayPart]
    assert list(areas(machine)) == [x for x in everything if x != ArrayPart.BIT_LINES]
    assert list(array_delays(machine)) == [x for x in ArrayPart if x is not ArrayPart.BIT_LINES]
    assert list(energies(machine)) == [x for x in ArrayPart if x is not ArrayPart.CELLS]


def test_cells_take_their_area_once_for_each_unit() -> None:
    machine = imc_machine(digital(), {"D1": 4, "D2": 8, "D3": 2}, cells_of(8, area=0.5))
    assert areas(machine)["cells"] == 4 * 8 * 2 * 0.5


@given(imc=arithmetic(), sizes=array_sizes(), more=st.integers(1, 20))
def test_areas_add_up(imc: InMemoryCompute, sizes: dict[str, int], more: int) -> None:
    """Two arrays side by side are one with the columns, or the banks, of both."""
    cells = cells_of(imc.weight_precision, area=0.25)
    for name in ("D1", "D3"):
        first, second = (imc_machine(imc, sizes | {name: n}, cells) for n in (sizes[name], more))
        both = areas(imc_machine(imc, sizes | {name: sizes[name] + more}, cells))
        for part, area in both.items():
            assert area == pytest.approx(areas(first)[part] + areas(second)[part], rel=1e-12)


@given(imc=arithmetic(), sizes=array_sizes(), name=st.sampled_from(("D1", "D2", "D3")))
def test_a_larger_array_takes_no_less(
    imc: InMemoryCompute, sizes: dict[str, int], name: str
) -> None:
    small, large = (imc_machine(imc, sizes | {name: n}) for n in (sizes[name], 2 * sizes[name]))
    for part, pj in energies(small).items():
        assert pj <= energies(large)[part]
    for named, area in areas(small).items():
        assert area <= areas(large)[named]
    assert clock_period(small) <= clock_period(large) * (1 + 1e-12)


@given(imc=arithmetic(), sizes=array_sizes())
def test_a_layer_that_fills_the_array_takes_the_peak_energy_in_each_cycle(
    imc: InMemoryCompute, sizes: dict[str, int]
) -> None:
    accelerator = imc_machine(imc, sizes)
    layer = convolution({"K": sizes["D1"], "C": sizes["D2"], "OX": sizes["D3"], "OY": 5})
    loops = {"D1": f"K {sizes['D1']}", "D2": f"C {sizes['D2']}", "D3": f"OX {sizes['D3']}"}
    cycles = 5 * 3 * 3 * imc.cycles_per_operation  # OY, FY and FX are left in time
    for entry in array_energies(mapped(layer, accelerator, loops)):
        peak = energies(accelerator)[entry.part]
        assert entry.energy == pytest.approx(peak * cycles, rel=1e-12)


@given(imc=arithmetic(), sizes=array_sizes())
def test_peak_performance_is_operations_over_time_energy_and_area(
    imc: InMemoryCompute, sizes: dict[str, int]
) -> None:
    accelerator = imc_machine(imc, sizes, cells_of(imc.weight_precision, area=1e-6))
    peak = peak_performance(accelerator)
    per_cycle = 2 * prod(sizes.values()) * imc.bit_serial_precision / imc.activation_precision
    seconds = clock_period(accelerator) * 1e-9
    joules = sum(energies(accelerator).values()) * 1e-12
    assert peak.tops == pytest.approx(per_cycle / seconds * 1e-12)
    assert peak.tops_per_watt == pytest.approx(per_cycle / joules * 1e-12)
    assert peak.tops_per_mm2 * sum(areas(accelerator).values()) == pytest.approx(peak.tops)


def test_names_decide_which_dimension_has_the_columns() -> None:
    sizes = {"D2": MACRO["D2"], "D1": MACRO["D1"]}
    assert areas(imc_machine(analog(), sizes)) == areas(imc_machine(analog()))


def test_a_later_node_takes_less_area_energy_and_time() -> None:
    old = copy_with(digital(), {"technology": 65.0, "supply_voltage": 1.1})
    at_65, at_28 = imc_machine(old), imc_machine(digital())
    for part, area in areas(at_28).items():
        assert area <= areas(at_65)[part]
    for part, energy in energies(at_28).items():
        assert energy <= energies(at_65)[part]
    assert clock_period(at_28) < clock_period(at_65)


def test_another_array_is_no_imc_array() -> None:
    with pytest.raises(ValueError, match="no IMC array; expected one"):
        macro_of(machine(memory("dram")))
