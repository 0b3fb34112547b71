"""Stages that map computation nodes onto single cores and find their costs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, final

from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.model import (
    Counting,
    EvaluationBatch,
    Frozen,
    MappingProblem,
    Objective,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.model.mapping.problem import CoreProblem
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.cn_costs import CoreCosts, RecordedCost
from nestmap.model.multicore.cn_layer import LayerNest
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.problem import SplitProblem
from nestmap.model.multicore.schedule import ScheduleOptions, ScheduleProblem
from nestmap.pipeline.stage_graph import Stage, each
from nestmap.pipeline.stages.mapping.candidates import (
    RankCandidatesStage,
    RankedCandidates,
    SpatialMappingGeneratorStage,
)
from nestmap.pipeline.stages.mapping.loma import CostModelStage, LomaStage
from nestmap.pipeline.stages.mapping.reduce import Costing, minimal
from nestmap.search.multicore.core_costs.cn_kinds import Groups, cn_kinds, gene_space, groups_of
from nestmap.search.multicore.core_costs.cost_table import Cell, CoreView, CostTable, columns
from nestmap.search.multicore.core_costs.dataflows import dataflow_mappings, dividing_mappings
from nestmap.search.multicore.core_costs.offchip_memory import offchip_of
from nestmap.search.version import VERSION as SEARCH_VERSION

# --- stages that choose spatial mappings for a core: its dataflows, or the largest unrollings ---


@final
@dataclass(frozen=True, slots=True)
class CustomSpatialMappingGeneratorStage(Stage[CoreProblem, Iterator[SpatialProblem]]):
    """The dataflows of a core, limited to the layer's sizes; those of ``usual`` if it has none.

    A loop dimension that the layer lacks leaves its share of the array idle; a smaller dimension
    is unrolled completely.
    """

    usual: Stage[MappingProblem, Iterator[SpatialProblem]] = field(
        default_factory=SpatialMappingGeneratorStage
    )

    def __call__(self, core: CoreProblem, /) -> Iterator[SpatialProblem]:
        if not core.dataflows:
            yield from self.usual(core.problem)
            return
        for mapping in dataflow_mappings(core):
            yield SpatialProblem(problem=core.problem, spatial_mapping=mapping)


@final
@dataclass(frozen=True, slots=True)
class RankedDataflowsStage(Stage[CoreProblem, Iterator[RankedCandidates]]):
    """The same in ascending order of their lower bounds; ``usual`` ranks its own.

    ``objective``: that of the bounds.
    """

    usual: Stage[MappingProblem, Iterable[RankedCandidates]]
    objective: Objective

    def __call__(self, core: CoreProblem, /) -> Iterator[RankedCandidates]:
        if not core.dataflows:
            yield from self.usual(core.problem)
            return
        flows = CustomSpatialMappingGeneratorStage()(core)
        yield RankCandidatesStage(objective=self.objective)(flows)


class DividingSpatialMappingStage(
    Frozen, Stage[MappingProblem, Iterator[SpatialProblem]], frozen=True
):
    """All combinations of the largest unrollings that divide a loop and that the memories can feed.

    As in Stream for a core without dataflows. There are many combinations: one for each choice of
    a loop dimension for each array dimension.
    """

    def __call__(self, problem: MappingProblem, /) -> Iterator[SpatialProblem]:
        for mapping in dividing_mappings(problem):
            yield SpatialProblem(problem=problem, spatial_mapping=mapping)


# --- the protocol that records costs of computation nodes and returns those of earlier runs ---


class CostLedger(Protocol):
    """Costs of nodes on cores by key: a hash of everything that determines the cost."""

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """The recorded costs by key; keys without costs are absent."""
        ...

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        """Records costs."""
        ...


COSTS_PER_COMMIT = 32
"""The number of costs per write to a ledger: at most this many are lost if a run is killed."""

CoreSearch = Stage[CoreProblem, EvaluationBatch]
"""Finds the best mapping of a layer on a core; without rows if no mapping fits."""

CostProgress = Callable[[int, int], None]
"""Called with the number of completed searches and the total number."""


@final
@dataclass(frozen=True, slots=True)
class KeyedCosts:
    """A ledger of costs; ``search`` holds all options that determine the result of a search."""

    ledger: CostLedger
    search: str

    def key(self, cell: Cell) -> str:
        """The key of a kind of nodes on a core: 32 hex digits."""
        parts = [
            "node",
            cell.kind.content_hash,
            cell.view.content_hash,
            cell.exact,
            self.search,
            COST_MODEL_VERSION,
            SEARCH_VERSION,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    def recall(self, cells: Sequence[Cell]) -> list[RecordedCost | None]:
        """The recorded cost of each, or ``None``."""
        keys = [self.key(cell) for cell in cells]
        known = self.ledger.find_costs(keys)
        possible = {key: found for key, found in known.items() if found.cost is not None}
        return [possible.get(key) for key in keys]

    def keep(self, found: Mapping[Cell, RecordedCost]) -> None:
        """Records new costs."""
        self.ledger.record_costs({self.key(cell): cost for cell, cost in found.items()})


def core_search(objective: Objective = Objective.LATENCY) -> CoreSearch:
    """The default search: all loop orders, on the core's dataflows or the best unrollings."""
    orders = LomaStage() >> each(CostModelStage()) >> minimal(objective)
    return CustomSpatialMappingGeneratorStage() >> each(orders) >> minimal(objective)


@final
@dataclass(frozen=True, slots=True)
class CoreCostStage(Stage[SplitProblem, CoreCosts]):
    """Finds the cost of each kind of computation node on each core on which it may run.

    Operands that are too large for a core's memory use off-chip streaming. ``search`` runs once
    for equal layers on equal cores, with the dataflows of the mapping, and ``cost`` evaluates the
    best mapping in full. Costs in ``remembered`` are reused without a search; ``watcher`` receives
    progress updates.

    Raises:
        InputError: where the mapping leaves a layer no core, or fixes cores for too few groups.
    """

    search: CoreSearch = field(default_factory=core_search)
    cost: Costing = evaluate
    remembered: KeyedCosts | None = None
    watcher: CostProgress | None = None

    def __call__(self, split: SplitProblem, /) -> CoreCosts:
        kinds = cn_kinds(split.problem.workload, split.nodes, split.problem.mapping)
        cells = _Cells.of(split, groups_of(split, kinds))
        found: dict[tuple[int, CoreId], RecordedCost] = {}
        refused: dict[tuple[int, CoreId], str] = {}
        for place, result in self._results(cells):
            kind, _ = place
            for number in cells.cores[place]:
                if isinstance(result, str):
                    refused[kind, number] = result
                else:
                    found[kind, number] = result
        numbers = [core.id for core in split.problem.accelerator.compute_cores]
        return CoreCosts(split, kinds, columns(kinds, numbers, found), found, refused)

    def _results(self, cells: _Cells) -> Iterator[tuple[_Place, RecordedCost | str]]:
        """The reused or new cost of each kind on each distinct core, or why it cannot run there."""
        costs, places = CostTable(self.search, self.cost), list(cells.cores)
        for start in range(0, len(places), COSTS_PER_COMMIT):
            some = places[start : start + COSTS_PER_COMMIT]
            results = self._recalled(cells, some)
            new: dict[_Place, RecordedCost] = {}
            for done, place in enumerate(some, start + 1):
                result = results.get(place) or costs.of(cells.cell(place), cells.nest(place))
                if isinstance(result, RecordedCost) and place not in results:
                    new[place] = result
                if self.watcher is not None:
                    self.watcher(done, len(places))
                yield place, result
            if self.remembered is not None and new:
                self.remembered.keep({cells.cell(place): cost for place, cost in new.items()})

    def _recalled(self, cells: _Cells, places: Sequence[_Place]) -> dict[_Place, RecordedCost]:
        if self.remembered is None:
            return {}
        known = self.remembered.recall([cells.cell(place) for place in places])
        return {
            place: _named(cost, cells.nest(place).name)
            for place, cost in zip(places, known, strict=True)
            if cost is not None
        }


def _named(known: RecordedCost, layer: str) -> RecordedCost:
    """A recorded cost, renamed for another layer."""
    if known.cme is None:
        return known
    return copy_with(known, {"cme": copy_with(known.cme, {"layer": layer})})


_Place = tuple[int, int]
"""The indices of a kind of node and of a distinct core."""


@final
@dataclass(frozen=True, slots=True)
class _Cells:
    """The kinds of nodes and the distinct cores on which they may run.

    ``cores`` lists the numbers of the equal cores at each place.
    """

    split: SplitProblem
    groups: Groups
    views: tuple[CoreView, ...]
    cores: dict[_Place, list[CoreId]]

    @classmethod
    def of(cls, split: SplitProblem, groups: Groups) -> Self:
        """The cells of a split network."""
        accelerator, exact = split.problem.accelerator, _exact(split)
        ways = Interconnect(accelerator=accelerator)
        numbers: dict[CoreView, int] = {}
        view_of: dict[CoreId, int] = {}
        for core in accelerator.compute_cores:
            offchip = offchip_of(accelerator, ways, core.id, narrowed=exact)
            view_of[core.id] = numbers.setdefault(CoreView.of(core, offchip), len(numbers))
        cores: dict[_Place, list[CoreId]] = {}
        for kind, wanted in enumerate(groups.cores_of_kinds):
            for number in wanted:
                cores.setdefault((kind, view_of[number]), []).append(number)
        return cls(split, groups, tuple(numbers), cores)

    def cell(self, place: _Place) -> Cell:
        """The properties that determine the cost at a place."""
        kind, view = place
        kinds = self.groups.kinds.kinds
        return Cell(kind=kinds[kind], view=self.views[view], exact=_exact(self.split))

    def nest(self, place: _Place) -> LayerNest:
        """The first layer with nodes of that kind."""
        first = int(self.groups.kinds.first[place[0]])
        return self.split.nodes.layer_of(first)[0].nest


def _exact(split: SplitProblem) -> bool:
    return split.nodes.counting is Counting.EXACT


class ProblemLedger(Protocol):
    """Records the scheduling problem."""

    def record_problem(self, problem: ScheduleProblem) -> None:
        """Records the nodes and their costs."""


@final
@dataclass(frozen=True, slots=True)
class IntraCoreMappingStage(Stage[SplitProblem, ScheduleProblem]):
    """From a split network to the problem of allocating its nodes to cores.

    ``costs`` finds the costs of nodes, :func:`schedule_problem` makes the problem, and the
    ``ledger`` records it. To see the mappings behind the costs, run the two separately.

    Raises:
        InputError: where the mapping leaves a layer no core, or fixes cores for too few groups.
        InfeasibleError: where nodes of a layer fit none of its cores; it names the memory that is
            too small.
    """

    costs: Stage[SplitProblem, CoreCosts] = field(default_factory=CoreCostStage)
    options: ScheduleOptions = field(default_factory=ScheduleOptions)
    ledger: ProblemLedger | None = None

    def __call__(self, split: SplitProblem, /) -> ScheduleProblem:
        problem = schedule_problem(self.costs(split), self.options)
        if self.ledger is not None:
            self.ledger.record_problem(problem)
        return problem


def schedule_problem(costs: CoreCosts, options: ScheduleOptions | None = None) -> ScheduleProblem:
    """The problem of allocating and scheduling nodes with these costs.

    Raises:
        InputError: where the mapping fixes cores for too few groups.
        InfeasibleError: where nodes of a layer fit none of its cores; it names the memory that is
            too small.
    """
    split = costs.split
    return ScheduleProblem(
        accelerator=split.problem.accelerator,
        nodes=split.nodes,
        space=gene_space(groups_of(split, costs.kinds), costs.infeasible),
        costs=costs.costs,
        options=options or ScheduleOptions(),
    )
