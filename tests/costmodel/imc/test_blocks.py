"""Building blocks: the published constants, and what node and voltage do to them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.imc.blocks import (
    Circuits,
    SupplyVoltageError,
    adc_area,
    adc_delay,
    adc_energy,
    circuits_of,
    dac_energy,
)
from nestmap.costmodel.technology import UnknownNodeError, nominal_voltage
from nestmap.model import NestmapError
from nestmap.model.base import copy_with
from tests.costmodel.imc.machines import digital

NODES = st.floats(min_value=7, max_value=180)
SHARES = st.floats(min_value=0.5, max_value=1.5)


def at(node: float, voltage: float) -> Circuits:
    return circuits_of(copy_with(digital(), {"technology": node, "supply_voltage": voltage}))


def test_constants_are_exactly_those_published_for_28_nm() -> None:
    assert circuits_of(digital()) == Circuits(0.9, 0.7e-3, 0.614e-6, 0.0478)


def test_blocks_are_counted_in_gates() -> None:
    circuits = Circuits(voltage=2.0, nand_capacitance=1.0, nand_area=1.0, nand_delay=1.0)
    assert circuits.adder_energy == (3 + 2 * 1.5) * 4
    assert circuits.idle_adder_energy == 2 * 1.5 * 4
    assert circuits.multiplier_energy == circuits.cell_line_energy == 0.5 * 4
    assert circuits.register_energy == 3 * 4
    assert (circuits.adder_area, circuits.register_area) == (3 + 2 * 2.4, 6)
    assert (circuits.sum_delay, circuits.carry_out_delay, circuits.carry_delay) == (4.8, 4.4, 2)


def test_converters() -> None:
    assert dac_energy(1, 0.9) == 0
    assert dac_energy(4, 1.0) == pytest.approx(0.2)
    assert (adc_energy(0, 0.9), adc_delay(0, 128)) == (0, 0)
    assert adc_energy(10, 1.0) == pytest.approx(1.0 + 1.048576)
    assert (adc_area(0), adc_area(1)) == (0, 0)
    assert adc_area(8) == pytest.approx(8.1433 * 256e-6, rel=1e-4)
    assert adc_delay(2, 100) == pytest.approx(2.586)


def nominal_adc_energy(resolution: int) -> float:
    return adc_energy(resolution, 0.9)


@pytest.mark.parametrize("figure", [nominal_adc_energy, adc_area])
@given(resolution=st.integers(0, 31))
def test_a_finer_converter_takes_no_less(figure: Callable[[int], float], resolution: int) -> None:
    assert figure(resolution) <= figure(resolution + 1)


@given(nodes=st.tuples(NODES, NODES).map(sorted))
def test_a_larger_node_takes_no_less(nodes: list[float]) -> None:
    # at one voltage, which must be above all thresholds: a third of 1.8 V
    small, large = (at(node, 0.9) for node in nodes)
    assert small.nand_capacitance <= large.nand_capacitance * (1 + 1e-12)
    assert small.nand_area <= large.nand_area * (1 + 1e-12)


@given(node=NODES, shares=st.tuples(SHARES, SHARES).map(sorted))
def test_a_higher_voltage_takes_no_less_energy_and_no_more_time(
    node: float, shares: list[float]
) -> None:
    low, high = (at(node, share * nominal_voltage(node)) for share in shares)
    assert low.adder_energy <= high.adder_energy
    assert low.nand_delay >= high.nand_delay * (1 - 1e-12)
    assert low.nand_area == high.nand_area


def test_energy_goes_with_the_square_of_the_voltage() -> None:
    assert at(28, 1.2).adder_energy == pytest.approx(at(28, 0.6).adder_energy * 4)


@pytest.mark.parametrize(("node", "voltage"), [(28, 0.3), (180, 0.6), (7, 0.1)])
def test_a_voltage_at_the_threshold_is_refused(node: float, voltage: float) -> None:
    with pytest.raises(SupplyVoltageError, match=r"expected more than the threshold") as caught:
        at(node, voltage)
    assert isinstance(caught.value, NestmapError)


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(UnknownNodeError, match="expected 7 to 180 nm"):
        at(5, 0.9)
