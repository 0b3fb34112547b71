"""Densities by name: which operands they are for, and which names are wrong."""

import pytest

from nestmap import conv2d, linear, network
from nestmap.model import InputError, Workload, with_densities

NETWORK = network(
    "net",
    conv2d("first", (1, 3, 16, 16), (8, 3, 3, 3)),
    conv2d("second", (1, 8, 14, 14), (8, 8, 3, 3)),
)


def densities(workload: Workload) -> list[dict[str, float]]:
    return [{x.name: x.density for x in layer.operands} for layer in workload.layers]


def test_a_name_of_an_operand_is_for_all_layers() -> None:
    assert densities(with_densities(NETWORK, {"I": 0.5})) == 2 * [{"O": 1.0, "I": 0.5, "W": 1.0}]


def test_layers_come_before_operators_and_those_before_all() -> None:
    given = {"I": 0.5, "Conv.I": 0.25, "second.I": 0.125, "first.O": 1.0, "O": 0.75}
    assert densities(with_densities(NETWORK, given)) == [
        {"O": 1.0, "I": 0.25, "W": 1.0},
        {"O": 0.75, "I": 0.125, "W": 1.0},
    ]


def test_all_else_stays() -> None:
    assert with_densities(NETWORK, {}) == NETWORK
    once = with_densities(NETWORK, {"I": 0.5, "W": 0.25})
    assert with_densities(once, {"I": 1.0, "W": 1.0}) == NETWORK
    assert [x.macs for x in once.layers] == [x.macs for x in NETWORK.layers]


def test_layers_with_equal_densities_are_equal_work() -> None:
    twice = network("net", linear("a", (4, 4), 4), linear("b", (4, 4), 4))
    first, second = with_densities(twice, {"a.W": 0.5}).layers
    assert first.anonymous != second.anonymous
    first, second = with_densities(twice, {"W": 0.5}).layers
    assert first.anonymous == second.anonymous


@pytest.mark.parametrize(
    ("name", "density", "message"),
    [
        ("X", 0.5, "density of X: found no such operand in net; expected an operand"),
        ("frist.I", 0.5, "first.I (one of"),
        ("I", 0.0, "density of I: found 0; expected a share of elements, above 0 and at most 1"),
        ("I", 1.5, "found 1.5"),
        ("I", float("nan"), "found nan"),
    ],
)
def test_errors_say_what_would_be_right(name: str, density: float, message: str) -> None:
    with pytest.raises(InputError) as error:
        with_densities(NETWORK, {name: density})
    assert message in str(error.value)
