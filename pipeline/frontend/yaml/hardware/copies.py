"""Reads how many equal cores a core of a description stands for."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final, final

from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import CoreId
from nestmap.pipeline.frontend.yaml.field_schema import Entries, Field, Form, Need, Origin
from nestmap.pipeline.frontend.yaml.hardware.core import Core
from nestmap.pipeline.frontend.yaml.located_node import Node

MOST: Final = 1024
"""The largest number of equal cores."""

_NUMBER: Final = f"the number of equal cores, 1 to {MOST}"

COPIES_FIELD: Final = Field(
    "copies",
    "how many equal cores a core [stands for](#copies), by number",
    "numbers of equal cores by number of the core",
    "{0: 4}",
    Need.OPTIONAL,
    default="{}",
    origin=Origin.NESTMAP,
)
COPIES: Final = Entries(
    "Copies",
    (COPIES_FIELD.name,),
    "How many equal cores a core stands for, itself included. The copies have the numbers that "
    "follow the largest one of `cores`, and the connections and shared memories of the core; no "
    "link connects them to each other unless they are in a `mesh`.",
    COPIES_FIELD.kind,
    (Form("0: 4", "core 0 and three more like it"),),
)


@final
@dataclass(frozen=True, slots=True)
class Copies:
    """The numbers of the cores that each repeated core stands for, its own first."""

    numbers: Mapping[CoreId, tuple[CoreId, ...]]

    def of(self, core: CoreId) -> tuple[CoreId, ...]:
        """The core and its copies."""
        return self.numbers.get(core, (core,))

    def among(self, cores: Iterable[CoreId]) -> tuple[CoreId, ...]:
        """The cores, each followed by its copies."""
        return tuple(number for core in cores for number in self.of(core))

    def pairs(self, pairs: Iterable[tuple[CoreId, CoreId]]) -> Iterator[tuple[CoreId, CoreId]]:
        """The pairs, for each core and its copies."""
        return ((a, b) for one, other in pairs for a in self.of(one) for b in self.of(other))


NO_COPIES: Final = Copies({})


def parse_copies(node: Node, cores: Mapping[CoreId, Core], offchip: CoreId) -> Copies:
    """The numbers of repeated cores and their copies.

    Raises:
        InputError: if a core does not exist or is off the chip, or a number is invalid.
    """
    free = count(max(cores) + 1)
    found: dict[CoreId, tuple[CoreId, ...]] = {}
    for number, item in node.numbered(COPIES_FIELD.kind).items():
        if number not in cores or number == offchip:
            known = ", ".join(str(x) for x in cores if x != offchip)
            raise item.error(f"a core on the chip: one of {known}", f"core {number}")
        wanted = item.integer(_NUMBER, minimum=1, maximum=MOST)
        found[number] = (number, *(next(free) for _ in range(wanted - 1)))
    return Copies(found)


def with_copies(cores: Mapping[CoreId, Core], copies: Copies) -> dict[CoreId, Core]:
    """The cores, and after them the copies."""
    made = {
        number: copy_with(cores[core], {"id": number})
        for core, numbers in copies.numbers.items()
        for number in numbers[1:]
    }
    return {**cores, **made}
