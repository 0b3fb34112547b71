"""Technology scaling: known values, monotone in node and voltage, located errors."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.technology import (
    Node,
    UnknownNodeError,
    is_known_node,
    nominal_node,
    nominal_voltage,
    scale_area,
    scale_delay,
    scale_energy,
    scale_leakage,
)
from nestmap.model import NestmapError

Scale = Callable[[float, Node, Node], float]

NODES = st.floats(min_value=7, max_value=180)
NOMINAL = NODES.map(nominal_node)
SCALES: tuple[Scale, ...] = (scale_energy, scale_delay, scale_area, scale_leakage)


def test_energy_of_the_authors_corrected_example() -> None:
    # "EnergyFactor_x = 0.8367(0.9)^2 - 0.4341(0.9) + 0.1701 = 0.4571", of 65 nm here at 1.1 V
    at_65 = 3.755 * 1.1**2 - 4.398 * 1.1 + 1.975
    assert scale_energy(1.0, Node(65, 1.1), Node(32, 0.9)) == pytest.approx(
        0.4571 / at_65, rel=1e-4
    )


@pytest.mark.parametrize(
    ("source", "target", "printed"),
    [(65, 45, 0.66), (130, 90, 0.44), (45, 32, 0.46), (20, 7, 0.28), (180, 7, 0.0032)],
)
def test_areas_are_those_of_the_printed_table_within_its_digits(
    source: float, target: float, printed: float
) -> None:
    assert scale_area(1.0, nominal_node(source), nominal_node(target)) == pytest.approx(
        printed, rel=0.05
    )


def test_delay_is_that_of_the_polynomial() -> None:
    at_14 = -40.66 * 0.8**3 + 109.2 * 0.8**2 - 100.6 * 0.8 + 35.92
    at_7 = -28.58 * 0.7**3 + 76.6 * 0.7**2 - 70.26 * 0.7 + 24.69
    assert scale_delay(1.0, nominal_node(14), nominal_node(7)) == pytest.approx(at_7 / at_14)


@pytest.mark.parametrize("scale", SCALES)
@given(source=NOMINAL, target=NOMINAL, value=st.floats(min_value=1e-9, max_value=1e9))
def test_scaling_back_gives_what_was_scaled(
    scale: Scale, source: Node, target: Node, value: float
) -> None:
    assert scale(scale(value, source, target), target, source) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("scale", [scale_energy, scale_area, scale_leakage])
@given(nodes=st.tuples(NODES, NODES).map(sorted))
def test_a_larger_node_takes_no_less(scale: Scale, nodes: list[float]) -> None:
    small, large = (scale(1.0, nominal_node(45), nominal_node(nm)) for nm in nodes)
    assert small <= large * (1 + 1e-12)


@given(nm=NODES, shares=st.tuples(*[st.floats(min_value=0.75, max_value=1.1)] * 2).map(sorted))
def test_a_higher_voltage_takes_no_less_energy(nm: float, shares: list[float]) -> None:
    vdd = nominal_voltage(nm)
    low, high = (scale_energy(1.0, nominal_node(nm), Node(nm, vdd * share)) for share in shares)
    assert low <= high * (1 + 1e-12)


@given(nm=st.floats(allow_nan=True).filter(lambda nm: not 7 <= nm <= 180))
def test_other_nodes_are_unknown(nm: float) -> None:
    assert not is_known_node(nm)
    with pytest.raises(UnknownNodeError, match="expected 7 to 180 nm") as caught:
        nominal_node(nm)
    assert isinstance(caught.value, NestmapError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("vdd", [0.0, -1.0, 0.5, 1.3, float("nan")])
def test_a_voltage_far_from_the_nominal_one_is_refused(vdd: float) -> None:
    with pytest.raises(ValueError, match=r"at 45 nm; expected 0\.75 to 1\.1 V"):
        Node(45, vdd)
