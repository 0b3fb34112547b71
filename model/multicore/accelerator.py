"""Multi-core accelerators: compute and storage cores, links, buses, shared memories."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, permutations, product
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import MemoryOperand
from nestmap.model.hardware.accelerator import Accelerator
from nestmap.model.hardware.memory import MemoryInstance, MemoryLevel
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.units import Bits, PicoJoules, Width

if TYPE_CHECKING:
    import networkx as nx

CoreId = Annotated[int, Field(ge=0, lt=2**31)]
"""The id of a core."""

Coordinates = tuple[int, int]
"""Column and row of a core on the chip; used by figures and mesh builders only."""


class ComputeCore(Frozen, frozen=True):
    """A core that computes: a single-core accelerator.

    ``dataflows`` are the spatial mappings that it supports (none: any that fits); ``operators``
    those that it runs (none: any that fits), for dedicated pooling or SIMD cores. Tensors that
    other cores may need are stored in the outermost memory of each memory operand.
    """

    kind: Literal["compute"] = "compute"
    id: CoreId
    accelerator: Accelerator
    dataflows: tuple[SpatialMapping, ...] = ()
    operators: tuple[str, ...] = ()
    coordinates: Coordinates | None = None

    @model_validator(mode="after")
    def _check_dataflows(self) -> ComputeCore:
        sizes = self.accelerator.array.sizes
        for unrolling in chain.from_iterable(flow.unrollings for flow in self.dataflows):
            name, factor = unrolling.array_dimension, unrolling.factor
            if name not in sizes:
                raise ValueError(
                    f"a dataflow of core {self.name} over {name}; expected one over its array "
                    f"dimensions: {', '.join(sizes)}"
                )
            if factor > sizes[name]:
                raise ValueError(
                    f"a dataflow of core {self.name} that unrolls {factor} times over {name}; "
                    f"expected at most {sizes[name]}, the size of the array there"
                )
        return self

    @property
    def name(self) -> str:
        """The name of its accelerator."""
        return self.accelerator.name

    @property
    def top_levels(self) -> dict[MemoryOperand, MemoryLevel]:
        """The outermost memory of each memory operand."""
        accelerator = self.accelerator
        return {operand: accelerator.levels_of(operand)[-1] for operand in accelerator.operands}

    def runs(self, operator: str) -> bool:
        """Whether it runs an operator."""
        return not self.operators or operator in self.operators


class StorageCore(Frozen, frozen=True):
    """A core that only stores tensors: the off-chip DRAM, or a memory between cores."""

    kind: Literal["storage"] = "storage"
    id: CoreId
    name: str = Field(min_length=1)
    memories: tuple[MemoryLevel, ...] = Field(min_length=1)
    coordinates: Coordinates | None = None

    @model_validator(mode="after")
    def _check_memories(self) -> StorageCore:
        for operand, count in Counter(x for m in self.memories for x in m.operands).items():
            if count > 1:
                raise ValueError(
                    f"{count} memories of core {self.name} hold {operand}; expected one for each "
                    "memory operand, since nothing computes below them"
                )
        return self

    @property
    def top_levels(self) -> dict[MemoryOperand, MemoryLevel]:
        """The memory of each memory operand."""
        return {operand: level for level in self.memories for operand in level.operands}


Core = Annotated[ComputeCore | StorageCore, Field(discriminator="kind")]


def check_shared_memories(cores: Sequence[ComputeCore | StorageCore]) -> None:
    """Checks that cores can share outermost memories: all need one of the same name and design.

    A core may use its ports for other operands than another core does.

    Raises:
        ValueError: if no outermost memory is common to all of them, or two of one name differ.
    """
    tops = {x.id: {top.name: _design(top.instance) for top in x.top_levels.values()} for x in cores}
    first, *others = tops
    numbers = ", ".join(map(str, tops))
    alike = [name for name in tops[first] if all(name in tops[other] for other in others)]
    if not alike:
        held = "; ".join(f"core {number} has {', '.join(top)}" for number, top in tops.items())
        raise ValueError(
            f"cores {numbers} share memory, and no outermost memory of one name is in all of them: "
            f"{held}; expected the same one in each"
        )
    for name, other in product(alike, others):
        if tops[other][name] != tops[first][name]:
            raise ValueError(
                f"cores {numbers} share memory, and {name} of core {other} is not that of core "
                f"{first}; expected the same size, ports and costs"
            )


def _design(memory: MemoryInstance) -> MemoryInstance:
    """The memory without what each of its ports is used for."""
    ports = tuple(copy_with(port, {"allocation": ()}) for port in memory.ports)
    return copy_with(memory, {"ports": ports})


def _reachable_cores(start: CoreId, after: Callable[[CoreId], Iterable[CoreId]]) -> set[CoreId]:
    """The cores reachable from ``start`` in any number of steps."""
    reached, waiting = {start}, [start]
    while waiting:
        new = set(after(waiting.pop())) - reached
        reached |= new
        waiting.extend(new)
    return reached


class Link(Frozen, frozen=True):
    """A directed link between two cores; it carries one transfer at a time.

    ``bandwidth`` is in bit/cycle; ``None``: transfers take no time. Energies are in pJ per bit and
    per busy cycle.
    """

    sender: CoreId
    receiver: CoreId
    bandwidth: Width | None
    energy_per_bit: PicoJoules = 0.0
    energy_per_cycle: PicoJoules = 0.0

    @model_validator(mode="after")
    def _check_ends(self) -> Link:
        if self.sender == self.receiver:
            raise ValueError(f"link from core {self.sender} to itself; expected another core")
        return self

    def __str__(self) -> str:
        return f"{self.sender} -> {self.receiver}"


class Bus(Frozen, frozen=True):
    """A channel shared by its cores; it carries one transfer at a time.

    With ``senders``, every transfer goes from one of these to one of the others, as for separate
    read and write channels of a memory. With a ``hub``, every transfer starts or ends there, as for
    a memory with a single port. Bandwidth and energies are those of :class:`Link`.
    """

    cores: tuple[CoreId, ...] = Field(min_length=2)
    bandwidth: Width | None
    energy_per_bit: PicoJoules = 0.0
    energy_per_cycle: PicoJoules = 0.0
    senders: tuple[CoreId, ...] = ()
    hub: CoreId | None = None

    @model_validator(mode="after")
    def _check_cores(self) -> Bus:
        for numbers in (self.cores, self.senders):
            if len(set(numbers)) != len(numbers):
                raise ValueError(f"bus {self} has a core twice; expected different ones")
        strange = sorted(set(self.senders) - set(self.cores))
        if strange:
            raise ValueError(
                f"core {strange[0]} sends over bus {self}; expected one of the cores on it"
            )
        if self.senders and not self.receivers:
            raise ValueError(f"all cores of bus {self} are senders; expected one that receives")
        if self.hub is not None and (self.senders or self.hub not in self.cores):
            raise ValueError(
                f"bus {self} has core {self.hub} as its hub; expected one of its cores, and no "
                "senders"
            )
        return self

    @property
    def receivers(self) -> tuple[CoreId, ...]:
        """The cores at which transfers may end."""
        return tuple(core for core in self.cores if core not in self.senders)

    @property
    def steps(self) -> Iterator[tuple[CoreId, CoreId]]:
        """Sender and receiver of each possible transfer."""
        if self.senders:
            return product(self.senders, self.receivers)
        pairs = permutations(self.cores, 2)
        return pairs if self.hub is None else (pair for pair in pairs if self.hub in pair)

    def __str__(self) -> str:
        if self.senders:
            ends = (", ".join(map(str, x)) for x in (self.senders, self.receivers))
            return f"bus {' -> '.join(ends)}"
        if self.hub is not None:
            others = (core for core in self.cores if core != self.hub)
            return f"bus {self.hub} <-> {', '.join(map(str, others))}"
        return f"bus {', '.join(map(str, self.cores))}"


class MultiCoreAccelerator(Frozen, frozen=True):
    """Cores, the links and buses between them, and the off-chip core, the source of constants.

    The cores in an item of ``shared`` share their outermost memories of equal name: these have one
    capacity, and each core can read what another one wrote.
    """

    name: str = Field(min_length=1)
    cores: tuple[Core, ...] = Field(min_length=2)
    offchip: CoreId
    links: tuple[Link, ...] = ()
    buses: tuple[Bus, ...] = ()
    shared: tuple[Annotated[tuple[CoreId, ...], Field(min_length=1)], ...] = ()

    @model_validator(mode="after")
    def _check_consistency(self) -> MultiCoreAccelerator:
        _ = self._is_valid
        return self

    @cached_property
    def _is_valid(self) -> bool:
        """Cached, because every model that contains the accelerator validates it again."""
        for number, count in Counter(core.id for core in self.cores).items():
            if count > 1:
                raise ValueError(f"{count} cores have the number {number}; expected different ones")
        self._check_core_ids()
        self._check_links()
        self._check_offchip()
        self._check_shared()
        self._check_connected()
        return True

    def _check_core_ids(self) -> None:
        known = [core.id for core in self.cores]
        named: list[tuple[str, Sequence[int]]] = [("offchip", (self.offchip,))]
        named += [(f"link {link}", (link.sender, link.receiver)) for link in self.links]
        named += [(str(bus), bus.cores) for bus in self.buses]
        named += [("shared memory", group) for group in self.shared]
        for what, numbers in named:
            for number in numbers:
                if number not in known:
                    raise ValueError(
                        f"{what} names core {number}; expected one of {', '.join(map(str, known))}"
                    )

    def _check_links(self) -> None:
        for (sender, receiver), count in Counter(
            (link.sender, link.receiver) for link in self.links
        ).items():
            if count > 1:
                raise ValueError(f"{count} links {sender} -> {receiver}; expected one")

    def _check_offchip(self) -> None:
        if not isinstance(self.core(self.offchip), StorageCore):
            raise ValueError(
                f"off-chip core {self.offchip} is a compute core; expected a storage core"
            )
        if not self.compute_cores:
            raise ValueError("no compute core; expected at least one")

    def _check_shared(self) -> None:
        for number, count in Counter(chain.from_iterable(self.shared)).items():
            if count > 1:
                raise ValueError(
                    f"core {number} occurs {count} times in shared memories; expected it once, "
                    "together with all cores that share its memory"
                )
        for group in self.shared:
            if len(group) < 2:
                alone = ", ".join(map(str, group))
                raise ValueError(f"memory shared by core {alone} alone; expected two or more")
            if self.offchip in group:
                raise ValueError(
                    f"memory shared with off-chip core {self.offchip}; expected on-chip cores"
                )
            check_shared_memories([self.core(number) for number in group])

    def _check_connected(self) -> None:
        receivers: dict[CoreId, list[CoreId]] = defaultdict(list)
        senders: dict[CoreId, list[CoreId]] = defaultdict(list)
        for sender, receiver in self._edges():
            receivers[sender].append(receiver)
            senders[receiver].append(sender)
        offchip = self.offchip
        reached = _reachable_cores(offchip, receivers.__getitem__)
        reaching = _reachable_cores(offchip, senders.__getitem__)
        for core in self.cores:
            for way, found in (((offchip, core.id), reached), ((core.id, offchip), reaching)):
                if core.id not in found:
                    raise ValueError(
                        f"no path from core {way[0]} to core {way[1]}; expected links, a bus or "
                        "shared memory between every core and the off-chip core, in both "
                        "directions"
                    )

    def core(self, number: CoreId) -> ComputeCore | StorageCore:
        """The core with that id.

        Raises:
            KeyError: if there is none.
        """
        return self._by_id[number]

    @cached_property
    def _by_id(self) -> dict[CoreId, ComputeCore | StorageCore]:
        return {core.id: core for core in self.cores}

    @property
    def room_for_sums(self) -> Bits:
        """The bits of the smallest innermost memory of outputs of a compute core."""
        return min(core.accelerator.room_for_sums for core in self.compute_cores)

    @property
    def compute_cores(self) -> tuple[ComputeCore, ...]:
        """The compute cores, in the given order."""
        return tuple(core for core in self.cores if isinstance(core, ComputeCore))

    def graph(self) -> nx.DiGraph[int]:
        """The core ids as a graph, with an edge per direct transfer (link, bus, shared memory)."""
        import networkx as nx  # noqa: PLC0415 (takes long to import)

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(core.id for core in self.cores)
        graph.add_edges_from(self._edges())
        return graph

    def _edges(self) -> Iterator[tuple[CoreId, CoreId]]:
        yield from ((link.sender, link.receiver) for link in self.links)
        for bus in self.buses:
            yield from bus.steps
        for group in self.shared:
            yield from permutations(group, 2)
