"""Reads quantities and other values of descriptions; each function states the unit it expects."""

from typing import Final

from nestmap.model.design_space.expression_syntax import LARGEST, Value
from nestmap.pipeline.frontend.yaml.located_node import Node

# --- the values of a YAML file as dictionaries, lists, texts and numbers ---


def plain_values(node: Node) -> dict[str, object]:
    """The values of a mapping, as dictionaries, lists, texts and numbers; keys become texts.

    Raises:
        InputError: if there is another value, such as a date.
    """
    if node.is_numbered:
        entries = node.numbered("values by number").items()
        return {str(number): plain_value(entry) for number, entry in entries}
    return {name: plain_value(entry) for name, entry in node.entries().items()}


def plain_value(node: Node) -> object:
    """The value, as a dictionary, a list, a text, a number or ``None``.

    Raises:
        InputError: if there is another value in it, such as a date.
    """
    if node.is_mapping:
        return plain_values(node)
    if node.is_sequence:
        return [plain_value(item) for item in node.sequence()]
    return None if node.is_null else scalar_value(node)


def scalar_value(node: Node) -> Value:
    """A text, a number or a truth value.

    Raises:
        InputError: if it is another value.
    """
    text, truth, number = node.text_or_none(), node.boolean_or_none(), node.number_or_none()
    if text is not None:
        return text
    if truth is not None:
        return truth
    if number is None or not -LARGEST <= number <= LARGEST:  # NaN compares false
        raise node.error("a number, a text, true or false")
    return number


ARRAY_DIMENSION: Final = "an array dimension such as D1"
ARRAY_DIMENSIONS: Final = "a list of array dimensions such as D1"
ENERGY: Final = "an energy in pJ, not negative"
AREA: Final = "an area, not negative"
POWER: Final = "a power in mW, not negative"
PERIOD: Final = "a clock period in ns, above 0"
NODE: Final = "a technology node of 7 to 180 nm"
RATE: Final = "a positive number of bit/cycle"
SWITCH: Final = "true or false"

_LARGEST_RATE: Final = 2**31 - 1


def energy(node: Node) -> float:
    """An energy in pJ."""
    return node.number(ENERGY, minimum=0)


def area(node: Node) -> float:
    """An area, in the unit of the whole description."""
    return node.number(AREA, minimum=0)


def power(node: Node) -> float:
    """A power in mW."""
    return node.number(POWER, minimum=0)


def technology(node: Node) -> float:
    """A technology node in nm, within the range of the known nodes."""
    # slow to import; only descriptions that name a node need it
    from nestmap.costmodel.technology import LARGEST_NODE, SMALLEST_NODE  # noqa: PLC0415

    value = node.number(NODE, minimum=SMALLEST_NODE)
    if value > LARGEST_NODE:
        raise node.error(NODE)
    return value


def nominal_supply_voltage(nm: float) -> float:
    """The nominal supply voltage in V of a known technology node in nm."""
    from nestmap.costmodel.technology import nominal_voltage  # noqa: PLC0415 (imports numba)

    return nominal_voltage(nm)


def rate(node: Node) -> int:
    """A transfer rate in bit/cycle."""
    return node.integer(RATE, minimum=1, maximum=_LARGEST_RATE)


def period(node: Node) -> float:
    """A clock period in ns."""
    value = node.number(PERIOD, minimum=0)
    if value == 0:
        raise node.error(PERIOD)
    return value
