"""Segments of a network that run tile by tile, with the tensors between their layers on chip."""

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.dims import Dimension
from nestmap.model.hardware.vector_unit import VectorEvaluation
from nestmap.model.units import Bits, Count, CyclesShare, PicoJoules


class TileAxis(Frozen, frozen=True):
    """An axis along which a segment is cut into tiles, by the dimension of its last layer.

    ``size`` is that of a tile of the last output, ``tiles`` how many there are. With ``retained``,
    what tiles compute along the axis stays for later tiles; otherwise they compute it again.
    """

    dimension: Dimension
    size: int = Field(ge=1)
    tiles: Count
    retained: bool


class MemoryRoom(Frozen, frozen=True):
    """The most bits of a memory that a segment takes at a time, beside the mapping of a layer."""

    memory: str
    bits: Bits


class SegmentEnd(Frozen, frozen=True):
    """Why two neighbours, layers or segments, do not run together: a clause without a full stop.

    ``last`` is the last node of the first one, ``next`` the first node of the other.
    """

    last: str
    next: str
    reason: str


class FusedSegment(Frozen, frozen=True):
    """Nodes that run together, tile by tile, the tiles of the last axis first.

    ``home``: the memory of the tensors between them; ``residence`` that in which the constants of
    their layers stay while all tiles run (``None``: each tile fetches them). ``staged`` are the
    layers whose inputs are copied from the outermost memory first, to the home or another memory
    that holds them, each part once along axes that retain. ``vector`` are the costs of the vector
    operators among them. Energy (pJ) and latency (cycles) are those of the whole segment, vector
    operators as in the total.
    """

    nodes: tuple[str, ...] = Field(min_length=2)
    axes: tuple[TileAxis, ...] = Field(min_length=1)
    home: str
    residence: str | None = None
    staged: tuple[str, ...] = ()
    taken: tuple[MemoryRoom, ...] = ()
    vector: tuple[VectorEvaluation, ...] = ()
    energy: PicoJoules
    latency: CyclesShare

    @property
    def tiles(self) -> Count:
        """The number of tiles."""
        count = 1
        for axis in self.axes:
            count *= axis.tiles
        return count
