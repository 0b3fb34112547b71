"""Physical quantities in descriptions: each reader names the unit it expects."""

from __future__ import annotations

from typing import Final

from nestmap.pipeline.parsers.node import Node

ARRAY_DIMENSION: Final = "an array dimension such as D1"


def energy(node: Node) -> float:
    """An energy in pJ."""
    return node.number("an energy in pJ, not negative", minimum=0)


def area(node: Node) -> float:
    """An area, in the unit of the whole description."""
    return node.number("an area, not negative", minimum=0)


def refuse(switch: Node, reason: str) -> None:
    """An error where something is switched on that is not supported."""
    if not switch.is_null and switch.boolean():
        raise switch.error(f"false ({reason})")
