"""The segments of layers that a mapping fixes, and what they leave to the search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from nestmap.model import InputError, LayerNode, SegmentPin, TileSize, VectorNode
from nestmap.model.errors import suggestion
from nestmap.model.mapping.constraints import DEFAULT_TARGET
from nestmap.search.fusion.plans import FusedSteps
from nestmap.search.tensor_homes import TensorGraph

Interval = tuple[int, int]
"""The first and the last step of layers that run together, or of one that runs by itself."""


@final
@dataclass(frozen=True, slots=True)
class PinnedSegments:
    """What a mapping fixes, by the steps of the network; vector operators follow their layer.

    ``otherwise`` is fixed of all other segments.
    """

    known: dict[Interval, SegmentPin]
    otherwise: SegmentPin

    @classmethod
    def of(
        cls, graph: TensorGraph, pins: Iterable[SegmentPin], tiles: tuple[TileSize, ...]
    ) -> PinnedSegments:
        """The segments of a network; those that end with no layer of it are left out.

        Raises:
            InputError: where one ends with several layers, or begins with none before its last
                one, or two overlap.
        """
        steps = enumerate(graph.steps)
        layers = {x.node.name: n for n, x in steps if isinstance(x.node, LayerNode)}
        found: dict[Interval, SegmentPin] = {}
        operators = {x.node.operator for x in graph.steps}
        for pin in pins:
            if pin.last in (DEFAULT_TARGET, *operators) and pin.last not in layers:
                raise InputError(pin.place, f"a segment that ends with {pin.last}", "one layer")
            if pin.last not in layers:
                continue
            before = [name for name, n in layers.items() if n <= layers[pin.last]]
            first = pin.last if pin.first is None else pin.first
            if first not in before:
                found_name = f"the first layer {first!r}"
                raise InputError(pin.place, found_name, suggestion(first, before))
            found[layers[first], _end(graph, layers[pin.last])] = pin
        for (_, end), (start, last) in pairwise(sorted(found)):
            if start <= end:
                name = graph.steps[start].node.name
                wanted = "segments without layers in common"
                raise InputError(found[start, last].place, f"a second segment of {name}", wanted)
        return cls(found, SegmentPin(last="", tiles=tiles))

    def several(self) -> Iterator[tuple[SegmentPin, Interval]]:
        """What is fixed of steps that run together, tile by tile."""
        return ((pin, x) for x, pin in self.known.items() if pin.first is not None)

    @property
    def together(self) -> frozenset[int]:
        """The steps that run with others, never by themselves."""
        intervals = (x for _, x in self.several())
        return frozenset(step for first, last in intervals for step in range(first, last + 1))

    def pin(self, first: int, last: int) -> SegmentPin | None:
        """What is fixed of these steps together."""
        return self.known.get((first, last))

    def last_from(self, first: int) -> int:
        """The last of the steps that are fixed to begin here; the one before if none are."""
        return next((last for start, last in self.known if start == first), first - 1)

    def allows(self, first: int, last: int) -> bool:
        """Whether these steps may run together."""
        common = {x: pin for x, pin in self.known.items() if x[0] <= last and first <= x[1]}
        return all(x == (first, last) and pin.first is not None for x, pin in common.items())


def check_pin(pin: SegmentPin, steps: FusedSteps | str) -> None:
    """Checks that layers can run together as a mapping says, given enough room.

    Raises:
        InputError: where they cannot.
    """
    if isinstance(steps, str):
        raise InputError(pin.place, steps, f"layers that can run together up to {pin.last}")
    axes = steps.segment.nodes[-1].dimensions
    _check_known(pin, "home", pin.home, steps.homes)
    _check_known(pin, "weights", pin.residence, steps.residences)
    for dimension in (*(x.dimension for x in pin.tiles), *(pin.recomputed or ())):
        _check_known(pin, "tiles along", dimension, axes)
    lengths = {d: steps.segment.size(a) for a, d in enumerate(axes)}
    if pin.tiles and all(x.size >= lengths[x.dimension] for x in pin.tiles):
        sizes = ", ".join(f"{d} {size}" for d, size in lengths.items())
        raise InputError(pin.place, "one tile, of all", f"tiles that are smaller than {sizes}")


def _check_known(pin: SegmentPin, what: str, name: str | None, known: Collection[str]) -> None:
    if name is not None and name not in known:
        raise InputError(pin.place, f"{what} {name}", suggestion(name, known))


def _end(graph: TensorGraph, step: int) -> int:
    """The last of the vector operators after a layer."""
    last = step
    while last + 1 < len(graph.steps) and isinstance(graph.steps[last + 1].node, VectorNode):
        last += 1
    return last
