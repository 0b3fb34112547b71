"""The tiles of a segment that are tried: rows and columns of each size, retained or not."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final, final

from nestmap.search.fusion.segment import Segment
from nestmap.search.fusion.tiles import AxisTiles, Grid, axis_tiles

MOST_ROWS: Final = 2
"""The numbers of rows of a tile that are tried beside others: the most that fit, and fewer."""

MOST_HALVINGS: Final = 4
"""How often the inner axis is halved where such tiles fit."""


Axes = dict[tuple[int, int, bool], AxisTiles]
"""The tiles along an axis, of a size, retained or not."""

Known = dict[tuple[tuple[int, bool], ...], Grid]
"""The tiles of sizes and modes along all axes."""


@final
@dataclass(frozen=True)
class Grids:
    """The tiles of a segment, each made once."""

    segment: Segment
    axes: Axes = field(default_factory=Axes)
    known: Known = field(default_factory=Known)

    def largest(self, fits: Callable[[Grid], bool]) -> Iterator[Grid]:
        """The tiles with the most rows that fit, and those with fewer; columns: all, and halves.

        Narrower tiles have room for as many rows. Where all rows fit, none is narrower, and very
        narrow ones are tried only where no other fits.
        """
        modes = [self._modes(a) for a in range(len(self.segment.axes))]
        rows = _parts(self.segment.size(0))
        for retain in product(*modes):
            start = len(rows)
            for k, widths in enumerate(product(*(self._widths(a) for a in range(1, len(retain))))):
                if k > MOST_HALVINGS and start < len(rows):
                    break
                sizes = [(size, *widths) for size in rows]
                start = self._first(sizes[: start + 1], retain, fits)
                found = (self._grid(x, retain) for x in sizes[start : start + MOST_ROWS])
                yield from (grid for grid in found if grid.count > 1)
                if start == 0:
                    break

    def smallest(self) -> Iterator[Grid]:
        """The smallest tiles that are tried, retained and not."""
        for retain in product(*(self._modes(a) for a in range(len(self.segment.axes)))):
            widths = (self._widths(a)[-1] for a in range(1, len(retain)))
            yield self._grid((1, *widths), retain)

    def of_sizes(
        self, sizes: tuple[int, ...], retain: tuple[bool, ...] | None = None
    ) -> Iterator[Grid]:
        """The tiles of these sizes, retained along each axis or not; ``None``: both."""
        modes = product(*map(self._modes, range(len(sizes)))) if retain is None else (retain,)
        yield from (self._grid(sizes, mode) for mode in modes)

    def _first(
        self,
        sizes: Sequence[tuple[int, ...]],
        retain: tuple[bool, ...],
        fits: Callable[[Grid], bool],
    ) -> int:
        """The first of these sizes that fits, each of which has fewer rows than the one before."""
        return bisect_left(sizes, True, key=lambda x: fits(self._grid(x, retain)))

    def _modes(self, axis: int) -> tuple[bool, ...]:
        """To retain, and to recompute where that is something else."""
        small = max(1, self.segment.size(axis) // 2)
        first, second = (self._tiles(axis, small, x) for x in (True, False))
        is_same = bool((first.first == second.first).all() and (first.end == second.end).all())
        return (True,) if is_same else (True, False)

    def _widths(self, axis: int) -> list[int]:
        length = self.segment.size(axis)
        return list(dict.fromkeys(-(-length // 2**k) for k in range(length.bit_length() + 1)))

    def _grid(self, sizes: tuple[int, ...], retain: tuple[bool, ...]) -> Grid:
        key = tuple(zip(sizes, retain, strict=True))
        if key not in self.known:
            axes = (self._tiles(a, *mode) for a, mode in enumerate(key))
            self.known[key] = Grid(self.segment, tuple(axes))
        return self.known[key]

    def _tiles(self, axis: int, size: int, retain: bool) -> AxisTiles:
        key = axis, size, retain
        if key not in self.axes:
            self.axes[key] = axis_tiles(self.segment, axis, size, retain=retain)
        return self.axes[key]


def _parts(length: int) -> list[int]:
    """The sizes of tiles that cut an axis into as few as possible, the largest first."""
    return list(dict.fromkeys(-(-length // count) for count in range(1, length + 1)))
