"""Runs layers together, tile by tile, where that costs least."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import floor, log
from typing import Final, final

from nestmap.costmodel.tiles import TileCosts, sum_of_tiles
from nestmap.model import (
    Counting,
    EvaluationBatch,
    FusedSegment,
    InputError,
    Layer,
    LayerNode,
    LayerResult,
    MemoryRoom,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    ObjectiveBound,
    OnChip,
    SearchStatistics,
    SegmentEnd,
    TileAxis,
    TileSize,
    VectorNode,
)
from nestmap.model.base import copy_with
from nestmap.model.units import Bits
from nestmap.pipeline.format.numbers import capacity, cycles
from nestmap.pipeline.format.numbers import energy as picojoules
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.fused_bound import NetworkBound, needed_shares
from nestmap.pipeline.stages.mapping.fused_costs import Around, Fused, FusedCosting
from nestmap.pipeline.stages.mapping.layers import check_layers, layer_problems, mapped_layers
from nestmap.pipeline.stages.mapping.on_chip import (
    AT_HOME,
    Variant,
    Variants,
    kept_tensors,
    outside_costs,
    vector_costs,
)
from nestmap.pipeline.stages.mapping.pinned_segments import PinnedSegments, check_pin
from nestmap.pipeline.stages.mapping.recall import Explore
from nestmap.pipeline.stages.mapping.reduce import infeasible_layer
from nestmap.search.fusion.plans import FusedSteps, Plan, fused_steps, plans_of, smallest_tiles
from nestmap.search.tensor_homes import (
    Costs,
    Home,
    Homes,
    Leap,
    OpenHomes,
    Part,
    Placement,
    TensorGraph,
    Visit,
    place,
)

MOST_PLANS: Final = 4
"""Plans of a segment of which the costs are found: those with the lowest estimates."""

ALIKE: Final = 1.01
"""The ratio of two estimates that count as equal."""

MOST_LAYERS: Final = 8
"""Layers of a segment at most, by default."""


# --- the ways through a network: segments of which the costs are known, or estimated ---


@final
@dataclass
class _Candidate:
    """A plan under the homes of the tensors around it; its costs, once they are known."""

    plan: Plan
    around: Around
    energy: float
    latency: float
    fused: Fused | None = None
    is_costed: bool = False

    def settle(self, costing: FusedCosting) -> None:
        """Finds the costs."""
        self.fused, self.is_costed = costing.costs(self.plan, self.around), True
        if self.fused is not None:
            self.energy, self.latency = self.fused.energy, self.fused.latency


Found = Variant | _Candidate

KnownSteps = dict[tuple[int, int], FusedSteps | str]
"""The segment from a step to another, or why there is none."""

Candidates = dict[tuple[int, int, Homes], list[_Candidate]]
"""The plans from a step to another under the homes of the tensors around."""


@final
@dataclass(frozen=True)
class _Ways:
    """The segments that begin at each step, under the homes of the tensors alive then."""

    graph: TensorGraph
    homes: OpenHomes
    costing: FusedCosting
    objective: Objective
    most_layers: int
    pins: PinnedSegments
    steps: KnownSteps = field(default_factory=KnownSteps)
    known: Candidates = field(default_factory=Candidates)

    def __call__(self, step: int, key: Homes) -> Iterator[Leap[Found]]:
        if self._is_vector(step):
            return
        layers, pinned = 0, self.pins.last_from(step)
        for last in range(step, len(self.graph.steps)):
            layers += not self._is_vector(last)
            if layers > self.most_layers and last > pinned:
                return
            is_tried = layers <= self.most_layers or last == pinned
            is_interval = last > step and self._is_cut(last + 1)
            if not is_tried or not is_interval or not self.pins.allows(step, last):
                continue
            steps = self.steps_from(step, last)
            if isinstance(steps, str):
                continue
            for chosen in self._chosen(steps, dict(key)):
                yield from self._leaps(steps, {**dict(key), **dict(chosen)}, chosen)

    def steps_from(self, first: int, last: int) -> FusedSteps | str:
        """The segment of these steps; if they cannot run tile by tile, why."""
        key = first, last
        if key not in self.steps:
            problems = self.costing.variants.problems
            self.steps[key] = fused_steps(self.graph, problems, first, last)
        return self.steps[key]

    def taken(self, steps: FusedSteps, homes: Mapping[int, Home]) -> dict[str, Bits]:
        """What whole tensors take of each memory while a segment runs."""
        segment, taken = steps.segment, Counter[str]()
        for b, buffer in enumerate(self.graph.buffers):
            t = self.graph.tensor_of[b]
            home = homes.get(t)
            is_alive = buffer.first <= segment.last and buffer.last >= segment.first
            if t not in steps.tensors and home is not None and is_alive:
                taken[home] += buffer.bits
        return dict(taken)

    def _is_vector(self, step: int) -> bool:
        return isinstance(self.graph.steps[step].node, VectorNode)

    def _is_cut(self, step: int) -> bool:
        """Whether a segment may begin there: vector operators go with the layers before them."""
        return step == len(self.graph.steps) or not self._is_vector(step)

    def _chosen(self, steps: FusedSteps, known: Mapping[int, Home]) -> Iterator[Homes]:
        """The homes of tensors that steps outside read, too, where they are not known."""
        nodes = enumerate(steps.segment.nodes)
        outer = (x.step.written for n, x in nodes if n not in steps.inner)
        written = dict.fromkeys(self.graph.tensor_of[b] for b in outer)
        new = [t for t in written if t not in known]
        for homes in product(*(self.homes.options[t] for t in new)):
            yield tuple(zip(new, homes, strict=True))

    def _leaps(
        self, steps: FusedSteps, homes: dict[int, Home], chosen: Homes
    ) -> Iterator[Leap[Found]]:
        segment = steps.segment
        key = segment.first, segment.last, tuple(sorted(homes.items()))
        if key not in self.known:
            self.known[key] = self._candidates(steps, homes)
        for candidate in self._best_of_homes(self.known[key]):
            inner = tuple((t, candidate.plan.home) for t in steps.tensors)
            costs = Costs[Found](candidate.energy, candidate.latency, None, candidate)
            yield Leap(segment.last + 1, (*chosen, *inner), costs)

    def _best_of_homes(self, candidates: Iterable[_Candidate]) -> Iterable[_Candidate]:
        """Those of which one may be on the best way: for a sum, the best with each home."""
        possible = list(filter(_may_run, candidates))
        if self.objective is Objective.EDP:
            return possible
        best: dict[str, _Candidate] = {}
        for x in sorted(possible, key=lambda x: (self.objective.of(x), x.energy, x.latency)):
            best.setdefault(x.plan.home, x)
        return best.values()

    def _candidates(self, steps: FusedSteps, homes: dict[int, Home]) -> list[_Candidate]:
        """The plans with the lowest estimates."""
        around = Around(homes, self.taken(steps, homes))
        pin = self.pins.pin(steps.segment.first, steps.segment.last) or self.pins.otherwise
        plans = plans_of(steps, around.taken, homes, self.homes.sizes, pin)
        estimates = self.costing.estimates(plans, around)
        found = [_Candidate(x.plan, around, x.energy, x.latency) for x in estimates]
        found.sort(key=self._rank)
        return found[:MOST_PLANS]

    def _rank(self, candidate: _Candidate) -> tuple[int, int]:
        """Of plans whose estimates are within one percent, those with fewer tiles come first."""
        value = self.objective.value_of(candidate.energy, candidate.latency)
        return floor(log(value) / log(ALIKE)), candidate.plan.grid.count


def _may_run(candidate: _Candidate) -> bool:
    return not candidate.is_costed or candidate.fused is not None


# --- why segments end where they do ---


@final
@dataclass(frozen=True, slots=True)
class _Ends:
    """Says why neighbours on the best way through a network do not run together."""

    ways: _Ways
    placed: Placement[Found]

    def said(self) -> Iterator[SegmentEnd]:
        """Of each two neighbours in order."""
        steps = self.ways.graph.steps
        for one, other in pairwise(self._neighbours()):
            last, following = steps[one.end - 1].node.name, steps[other.first].node.name
            yield SegmentEnd(last=last, next=following, reason=self._reason(one, other))

    def _neighbours(self) -> Iterator[Part[Found]]:
        """Layers and segments, each with the vector operators after it."""
        known: Part[Found] | None = None
        for part in self.placed.parts:
            if part.found is not None:
                if known is not None:
                    yield known
                known = part
            elif known is not None:
                energy, latency = known.energy + part.energy, known.latency + part.latency
                known = known._replace(end=part.end, energy=energy, latency=latency)
        if known is not None:
            yield known

    def _reason(self, one: Part[Found], other: Part[Found]) -> str:
        ways, joined = self.ways, self.ways.graph.steps[one.first : other.end]
        if not ways.pins.allows(one.first, other.end - 1):
            return "the mapping fixes where they end"
        layers = sum(isinstance(x.node, LayerNode) for x in joined)
        if layers > ways.most_layers:
            return f"together they have {layers} layers, and at most {ways.most_layers} are tried"
        steps = ways.steps_from(one.first, other.end - 1)
        if isinstance(steps, str):
            return steps
        plans = list(filter(_may_run, self._plans(steps)))
        if not plans:
            return self._no_room(steps)
        rest = [x for x in self.placed.parts if not one.first <= x.first < other.end]
        energy, latency = sum(x.energy for x in rest), sum(x.latency for x in rest)
        value = ways.objective.value_of
        best = min(plans, key=lambda x: value(energy + x.energy, latency + x.latency))
        how = "" if best.is_costed else " by an estimate"
        together = f"{picojoules(best.energy)} and {cycles(best.latency)} cycles{how}"
        apart = f"{picojoules(one.energy + other.energy)} and {cycles(one.latency + other.latency)}"
        return f"together they take {together}, apart {apart}"

    def _plans(self, steps: FusedSteps) -> list[_Candidate]:
        """The plans of a segment with all other tensors where they are."""
        segment, homes = steps.segment, self.placed.homes
        for (first, last, key), plans in self.ways.known.items():
            is_same = (first, last) == (segment.first, segment.last)
            if is_same and all(homes[t] == home for t, home in key):
                return plans
        return []

    def _no_room(self, steps: FusedSteps) -> str:
        homes = {t: x for t, x in enumerate(self.placed.homes) if t not in steps.tensors}
        left = Counter(self.ways.homes.sizes)
        left.subtract(self.ways.taken(steps, homes))
        if not steps.homes:
            return "no memory on chip can hold all tensors between them"
        home = max(steps.homes, key=lambda x: left[x])
        tiles = smallest_tiles(steps, self.ways.pins.otherwise)
        if not tiles:
            return "tiles of the given sizes do not cut what they compute"
        need = min(steps.most(grid, home, ())[home] for grid in tiles)
        if need > left[home]:
            room = f"{home} has {capacity(max(0, left[home]))} for them"
            return f"even in the smallest tiles tensors between them take {capacity(need)}; {room}"
        return "beside the tensors between them some layer has no mapping in tiles"


# --- the stage, and what it gives ---


@final
@dataclass(frozen=True, slots=True)
class FusedNetwork:
    """The parts of a network in order: layers by themselves, and segments; where tensors stay."""

    parts: tuple[EvaluationBatch | Fused, ...]
    on_chip: OnChip
    variants: Variants


@final
@dataclass(frozen=True, slots=True)
class FuseStage(Stage[NetworkProblem, FusedNetwork]):
    """Finds which layers run together, tile by tile, so that all together cost least.

    A segment is an interval of the layers and vector operators of a network. It runs in tiles of
    rows and columns of its last output, whose tensors within stay on chip; what tiles need again
    stays there, or is computed again; constants may reside on chip while all tiles run. Each layer
    has one spatial mapping, that of its best mapping as a whole. Layers by themselves, with their
    tensors where they are best as by :class:`KeepOnChipStage`, are in the space, so the result is
    never worse. The constraints may fix segments, their tiles and memories; others have at most
    ``most_layers``, and ``tiles`` of these sizes if they are given.

    Raises:
        InputError: where there is no layer, the constraints do not suit one or the accelerator, or
            fix what cannot run together, or the accelerator counts as the reference.
        InfeasibleError: where memories or tiles that the mapping fixes leave no room for tensors.
    """

    explored: Explore
    objective: Objective
    count_vector: bool = False
    most_layers: int = MOST_LAYERS
    tiles: tuple[TileSize, ...] = ()

    def __call__(self, network: NetworkProblem, /) -> FusedNetwork:
        check_layers(network)
        if network.accelerator.counting is Counting.REFERENCE:
            found, expected = "the counting of the reference", "the exact counting"
            raise InputError(f"fuse on {network.accelerator.name}", found, expected)
        layers = mapped_layers(network)
        problems = {x.layer.name: x for x in layer_problems(network, layers)}
        graph = TensorGraph.of(network.workload, layers)
        homes = OpenHomes.of(graph, problems)
        variants = Variants(self.explored, AT_HOME, self.objective, problems)
        costing = FusedCosting(graph, variants, network.accelerator, self.count_vector)
        pins = PinnedSegments.of(graph, network.constraints.segments, self.tiles)
        ways = _Ways(graph, homes, costing, self.objective, self.most_layers, pins)
        for pin, (first, last) in pins.several():
            check_pin(pin, ways.steps_from(first, last))
        for most in range(1, self.most_layers):  # so that a larger number is never worse
            self._placed(replace(ways, most_layers=most))
        placed = self._placed(ways)
        parts = tuple(_part(x, variants) for x in placed.found)
        on_chip = OnChip(
            tensors=tuple(kept_tensors(graph, problems, placed.homes, homes)),
            outside=outside_costs(placed.outside),
            segments=tuple(_segment(x) for x in parts if isinstance(x, Fused)),
            ends=tuple(_Ends(ways, placed).said()),
            bound=self._bound(ways, placed),
        )
        return FusedNetwork(parts, on_chip, variants)

    def _bound(self, ways: _Ways, placed: Placement[Found]) -> ObjectiveBound:
        """The bound of all fused schedules."""
        graph, problems = ways.graph, ways.costing.variants.problems
        alone = (x for x in placed.found if isinstance(x, Variant))
        left = {x.problem.layer.name for x in alone if not len(x.best)}
        segments = (x for x in ways.steps.values() if isinstance(x, FusedSteps))
        needed = needed_shares(graph, segments)
        bound = NetworkBound(graph, problems, ways.costing.accelerator, needed)
        return bound.of(self.objective, problems.keys() - left, vector=self.count_vector)

    def _placed(self, ways: _Ways) -> Placement[Found]:
        """The best way through the network of which all costs are known.

        Estimates choose the segments that are costed: those on the best way, until there is none
        left on it.
        """
        costing = ways.costing
        vector = vector_costs(costing.accelerator, counted=self.count_vector)

        def layers(layer: Layer, visit: Visit) -> Costs[Found] | None:
            known = costing.variants.costs(layer, visit)
            if known is None:
                return None
            return Costs[Found](known.energy, known.latency, known.bound, known.found)

        while True:
            together = ways.pins.together
            placed = place(ways.graph, ways.homes, (layers, vector), self.objective, ways, together)
            left = [x for x in placed.found if isinstance(x, _Candidate) and not x.is_costed]
            if not left:
                return placed
            for candidate in left:
                candidate.settle(costing)


def _part(found: Found, variants: Variants) -> EvaluationBatch | Fused:
    """A layer by itself, or a segment."""
    if isinstance(found, Variant):
        best, own = variants.with_all_work(found), found.best.statistics
        return best.with_statistics(copy_with(best.statistics, {"infeasible": own.infeasible}))
    assert found.fused is not None, "only segments that run are on a way"
    return found.fused


def _segment(fused: Fused) -> FusedSegment:
    plan, segment = fused.plan, fused.plan.grid.segment
    last = segment.nodes[-1]
    most = Counter[str]()
    for taken in plan.taken:
        most |= taken
    return FusedSegment(
        nodes=tuple(x.step.node.name for x in segment.nodes),
        axes=tuple(
            TileAxis(dimension=d, size=x.size, tiles=x.count, retained=x.retain)
            for d, x in zip(last.dimensions, plan.grid.axes, strict=True)
        ),
        home=plan.home,
        residence=plan.residence,
        staged=tuple(dict.fromkeys(segment.nodes[x.reads[0][0]].nest.name for x in plan.staged)),
        taken=tuple(MemoryRoom(memory=m, bits=bits) for m, bits in sorted(most.items())),
        vector=fused.vector,
        energy=fused.energy,
        latency=fused.latency,
    )


@final
@dataclass(frozen=True, slots=True)
class FusedSumStage(Stage[FusedNetwork, NetworkEvaluation]):
    """The sum over all layers, of fused ones over all their tiles, and where tensors stay."""

    summed: Stage[tuple[EvaluationBatch, ...], NetworkEvaluation]

    def __call__(self, network: FusedNetwork, /) -> NetworkEvaluation:
        alone = tuple(x for x in network.parts if isinstance(x, EvaluationBatch))
        together = (x for x in network.parts if isinstance(x, Fused))
        fused = [layer for x in together for layer in self._layers(x, network.variants)]
        if fused and not any(map(len, alone)):
            failed = (infeasible_layer(x.mappings.problem.problem, x.statistics) for x in alone)
            return NetworkEvaluation(
                layers=tuple(fused), infeasible=tuple(failed), on_chip=network.on_chip
            )
        whole = self.summed(alone)
        order = {name: i for i, name in enumerate(network.variants.problems)}
        layers = sorted((*whole.layers, *fused), key=lambda x: order[x.cme.layer])
        return copy_with(whole, {"layers": tuple(layers), "on_chip": network.on_chip})

    def _layers(self, fused: Fused, variants: Variants) -> Iterator[LayerResult]:
        """The layers of a segment, each the sum over its tiles."""
        for n, node in enumerate(fused.plan.grid.segment.nodes):
            parts = [x for x in fused.tiles if x.node == n]
            if parts:
                costed = self.summed(tuple(x.best for x in parts)).layers
                tiles = [TileCosts(x.cme, y.times) for x, y in zip(costed, parts, strict=True)]
                copies = [x for m, x in fused.copies if m == n]
                work = variants.work.get(node.nest.name, SearchStatistics())
                counts = copy_with(work, {"infeasible": ()})  # those are of tiles that differ
                yield LayerResult(cme=sum_of_tiles(tiles, copies), statistics=counts)
