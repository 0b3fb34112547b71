"""The plan of an exploration, and the pipelines that implement it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import NoneType

from pydantic import ValidationError, model_validator

from nestmap.model import (
    CostLimit,
    Counting,
    EvaluationBatch,
    Frozen,
    InputError,
    MappingConstraints,
    MappingProblem,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    Objective,
    SpatialProblem,
    TileSize,
)
from nestmap.model.base import copy_with
from nestmap.model.errors import check_kind
from nestmap.model.units import PositiveCount
from nestmap.pipeline.explore.choices import (
    Search,
    SpatialMappings,
    check_names,
    chosen_padding,
    chosen_search,
    chosen_spatial,
    given,
    named,
)
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.stage_graph import Stage, each
from nestmap.pipeline.stages import (
    AllSpatialMappingsStage,
    BoundedSearchStage,
    EachOnceStage,
    ExactStage,
    FlattenStage,
    FrontSumStage,
    FusedSumStage,
    FuseStage,
    KeepOnChipStage,
    OrderedCandidatesStage,
    PaddingStage,
    ParetoStage,
    PinnedTopLevelsStage,
    PlacedFrontStage,
    PlacedSumStage,
    PromisingMappingsStage,
    RankCandidatesStage,
    RecallLayerStage,
    SpatialMappingGeneratorStage,
    StreamOfOneStage,
    SumStage,
    VectorStage,
    WorkloadStage,
    minimal,
)
from nestmap.pipeline.stages.mapping.candidates import RankedCandidates
from nestmap.pipeline.stages.mapping.front import LimitedSumStage
from nestmap.pipeline.stages.mapping.fuse import MOST_LAYERS
from nestmap.pipeline.stages.mapping.recall import UNCONNECTED, Batches, Ports
from nestmap.pipeline.stages.mapping.temporal_search import Evaluated, Rank
from nestmap.search.parallel import available_workers


class SearchPlan(Frozen, frozen=True):
    """How an exploration searches.

    ``objective``: what to minimize; it overrides the objective of the search. ``search``: how to
    find temporal mappings. ``spatial``: which spatial mappings to try, chosen by ``rank``; by
    default the exact search tries all, other searches the three with the highest utilization, as
    the reference. The default rank is ``bound`` for the exact search and ``utilization`` for the
    others; a limit of loop factors with more or mixed spatial mappings, without the name of a
    search, means LOMA with ``bound``.
    ``padding``: if given, padded layers are tried, too. With ``keep_on_chip``, tensors between
    layers stay on chip where all layers together cost less by it; with ``fuse``, layers also run
    together, tile by tile, at most ``fuse_depth`` of them (default: 8), in ``tiles`` of these sizes
    (default: the best of many). With ``prune``, spatial mappings are searched in the order of their
    lower bounds, and those whose bound exceeds the best result are skipped: the same result in less
    time. With ``count_vector``, the totals include the vector operators. ``at_most``: the objective
    is minimized under this limit on what the network costs, over the Pareto fronts of all layers.
    ``counting``: how costs are counted; by default as the accelerator says. Commonly changed
    options are in :class:`~nestmap.pipeline.explore.options.SearchOptions`.
    """

    objective: Objective = Objective.LATENCY
    search: Search = ExactStage()
    spatial: SpatialMappings | None = None
    rank: Rank | None = None
    padding: PaddingStage | None = None
    keep_on_chip: bool = False
    fuse: bool = False
    fuse_depth: PositiveCount | None = None
    tiles: tuple[TileSize, ...] = ()
    prune: bool = False
    count_vector: bool = False
    counting: Counting | None = None
    at_most: CostLimit | None = None

    @classmethod
    def of(cls, options: SearchOptions) -> SearchPlan:
        """The plan with these options; by default it has one worker per core.

        Raises:
            InputError: where an option is invalid.
        """
        workers = options.get("workers")
        threads = available_workers() if workers is None else workers
        return cls().with_options({**options, "workers": threads})

    def with_options(self, options: SearchOptions) -> SearchPlan:
        """This plan, with the given options changed.

        Raises:
            InputError: where an option is invalid.
        """
        check_names(options, SearchOptions.__annotations__)
        at_most, tiles = _chosen_limit(options), options.get("tiles")
        check_kind("tiles", tiles, (str, NoneType), "a text")
        free = None if at_most is None else at_most.minimized
        changes = {
            "counting": Counting.of(options.get("reference")),
            "objective": named(Objective, options.get("objective"), "objective") or free,
            "at_most": at_most,
            "prune": options.get("prune"),
            "count_vector": options.get("count_vector"),
            "keep_on_chip": options.get("keep_on_chip"),
            "fuse": options.get("fuse"),
            "fuse_depth": options.get("fuse_depth"),
            "tiles": None if tiles is None else TileSize.parse(tiles),
        }
        try:
            search = chosen_search(self.search, options)
            fixed = {
                "search": search,
                "spatial": chosen_spatial(self.spatial, options, search),
                "padding": chosen_padding(self.padding, options.get("pad")),
                "rank": _chosen_rank(self, options),
            }
            return copy_with(self, given(changes) | fixed)
        except ValidationError as error:
            raise InputError.of("search", error) from None

    def prepare(self, network: NetworkProblem) -> NetworkProblem:
        """The network in the counting of the plan.

        Raises:
            InputError: where its mapping fixes segments, and the plan does not fuse.
        """
        self.check_segments(network.constraints)
        counted = network.accelerator.counted(self.counting)
        return copy_with(network, {"accelerator": counted})

    def check_segments(self, constraints: MappingConstraints) -> None:
        """Checks that only networks that are fused have segments.

        Raises:
            InputError: where the constraints fix some, and the plan does not fuse.
        """
        if not self.fuse:
            constraints.refuse_segments("--fuse, or no segment")

    @property
    def is_reference(self) -> bool:
        """Whether costs are those of the reference, whatever the accelerator says."""
        return self.counting is Counting.REFERENCE

    @property
    def effective_search(self) -> Search:
        """The search with the objective of the plan."""
        return self.search.minimizing(self.objective)

    @property
    def front_search(self) -> Search:
        """The search for Pareto fronts."""
        return self.search.for_fronts(self.objective)

    @property
    def effective_rank(self) -> Rank:
        """The rank; by default that of the reference for its own searches."""
        return self.rank or self.search.default_rank

    @property
    def is_greedy(self) -> bool:
        """Whether the search tries one allocation to memories for each order."""
        return self.search.is_greedy

    @property
    def is_timed(self) -> bool:
        """Whether a limit of time may cut searches short, so that another run may find more."""
        return self.search.is_timed

    @property
    def generator(self) -> SpatialMappingGeneratorStage:
        """The spatial mappings of a search that is not exhaustive over them."""
        if isinstance(self.spatial, SpatialMappingGeneratorStage):
            return self.spatial
        return SpatialMappingGeneratorStage()

    @model_validator(mode="after")
    def _check_spatial(self) -> SearchPlan:
        if isinstance(self.spatial, AllSpatialMappingsStage) and not self.search.is_exhaustive:
            raise ValueError("spatial mappings: all with another search; expected the exact search")
        return self

    @model_validator(mode="after")
    def _check_fuse(self) -> SearchPlan:
        others = {"at_most": self.at_most, "padding": self.padding}
        for name, given_too in others.items():
            if self.fuse and given_too is not None:
                raise ValueError(f"fuse with {name}; expected one of both")
        for name, wanted in (("fuse_depth", self.fuse_depth), ("tiles", self.tiles)):
            if wanted and not self.fuse:
                raise ValueError(f"{name} without fuse; expected both")
        return self

    @property
    def apart(self) -> SearchPlan:
        """The same for each layer by itself."""
        fused: dict[str, object] = {"fuse": False, "fuse_depth": None, "tiles": ()}
        return copy_with(self, {"keep_on_chip": False, **fused})

    @property
    def joins_layers(self) -> bool:
        """Whether the best mapping of a layer depends on that of others."""
        return self.keep_on_chip or self.fuse

    @model_validator(mode="after")
    def _check_limit(self) -> SearchPlan:
        if self.at_most is None:
            return self
        if self.objective is not self.at_most.minimized:
            expected = f"the objective {self.at_most.minimized}"
            raise ValueError(f"at_most {self.at_most} for {self.objective}; expected {expected}")
        if self.prune:
            raise ValueError(
                "at_most with prune, which skips parts of fronts; expected one of both"
            )
        return self


def _chosen_rank(plan: SearchPlan, options: SearchOptions) -> Rank | None:
    """The rank that the options ask for.

    A limit of loop factors without the name of a search does not ask for the way of the reference
    if the options ask for more spatial mappings than it tries by default.
    """
    if options.get("rank") is not None:
        return named(Rank, options.get("rank"), "rank")
    if options.get("search") is not None:
        return None
    usual, wanted = SpatialMappingGeneratorStage().max_mappings, options.get("spatial_mappings")
    asks_more = bool(options.get("mixed")) or (isinstance(wanted, int) and wanted > usual)
    is_implied = "lpf_limit" in options and plan.search.is_exhaustive
    return Rank.BOUND if is_implied and asks_more else plan.rank


def _chosen_limit(options: SearchOptions) -> CostLimit | None:
    limit = options.get("at_most")
    check_kind("at_most", limit, (str, CostLimit, NoneType), "a text or a CostLimit")
    return CostLimit.parse(limit) if isinstance(limit, str) else limit


def exploration_pipeline(
    plan: SearchPlan, ports: Ports = UNCONNECTED
) -> Stage[NetworkProblem, NetworkEvaluation]:
    """The main pipeline: all candidates of every layer, the best of each, and their sum.

    Vector operators have only one implementation and are added at the end. Results in the ledger
    of the ports are not computed again. Under a limit, the best of all layers together, from their
    fronts.
    """
    if plan.at_most is not None:
        return front_pipeline(plan, ports) >> LimitedSumStage(limit=plan.at_most)
    explored = _explored(plan, ports)
    summed = SumStage(ports.cost, plan.objective, plan.is_greedy)
    if plan.fuse:
        most = MOST_LAYERS if plan.fuse_depth is None else plan.fuse_depth
        fused = FuseStage(explored, plan.objective, plan.count_vector, most, plan.tiles)
        return VectorStage(fused >> FusedSumStage(summed), plan.count_vector)
    if plan.keep_on_chip:
        placed = _homes(plan, explored) >> PlacedSumStage(summed)
        return VectorStage(placed, plan.count_vector)
    return VectorStage(layers_stage() >> EachOnceStage(explored) >> summed, plan.count_vector)


def _explored(plan: SearchPlan, ports: Ports) -> Stage[MappingProblem, EvaluationBatch]:
    """The best evaluation of a layer, recalled where the ledger has it."""
    best, choose = best_stage(plan, ports), minimal(plan.objective)
    return RecallLayerStage(best, choose, ports.ledger, exploration_options(plan))


def _homes(plan: SearchPlan, explored: Stage[MappingProblem, EvaluationBatch]) -> KeepOnChipStage:
    return KeepOnChipStage(explored, plan.objective, plan.count_vector)


def best_stage(
    plan: SearchPlan, ports: Ports = UNCONNECTED
) -> Stage[MappingProblem, EvaluationBatch]:
    """The best evaluation of a layer."""
    walk = _walk(plan, plan.effective_search, plan.objective, ports)
    if walk is not None:
        return walk >> minimal(plan.objective)
    best = temporal_stage(plan, ports) >> minimal(plan.objective)
    if plan.prune:
        return candidates_stage(plan) >> BoundedSearchStage(best, plan.objective)
    return candidates_stage(plan) >> each(best) >> minimal(plan.objective)


def exploration_options(plan: SearchPlan) -> str:
    """The options that determine the best evaluation of a layer, as JSON."""
    changing = {"objective", "spatial", "rank", "padding", "prune"}
    options = plan.model_dump_json(include=changing)
    return f'{{"search": {plan.effective_search.options_json}, "plan": {options}}}'


def front_pipeline(
    plan: SearchPlan, ports: Ports = UNCONNECTED
) -> Stage[NetworkProblem, NetworkFront]:
    """The pipeline for Pareto fronts: all candidates of every layer, and the front of each.

    Tensors kept on chip stay where the objective of the plan is least.
    """
    costs = _walk(plan, plan.front_search, None, ports)
    if costs is None:
        every = candidates_stage(plan) >> each(temporal_stage(plan, ports))
        costs = every >> FlattenStage[EvaluationBatch]()
    fronts = EachOnceStage(costs >> ParetoStage()) >> FrontSumStage(ports.cost, plan.is_greedy)
    if plan.keep_on_chip:
        placed = _homes(plan, _explored(plan, ports)) >> PlacedFrontStage(fronts)
        return VectorStage(placed, plan.count_vector)
    return VectorStage(layers_stage() >> fronts, plan.count_vector)


def _walk(
    plan: SearchPlan, search: Search, objective: Objective | None, ports: Ports
) -> Stage[MappingProblem, Batches] | None:
    """All evaluations of an exhaustive search of a layer, and of its padded forms."""
    walk = search.walk(ports)
    return None if walk is None else ranked_stage(plan, objective) >> walk


def ranked_stage(
    plan: SearchPlan, objective: Objective | None
) -> Stage[MappingProblem, Iterable[RankedCandidates]]:
    """The spatial mappings that an exhaustive search tries: all, unless the plan limits them.

    Those of each padded form of the layer, if the plan pads layers.
    """
    ranked: Stage[MappingProblem, RankedCandidates] = AllSpatialMappingsStage(objective=objective)
    if isinstance(plan.spatial, SpatialMappingGeneratorStage):
        ranked = _ranked_candidates(plan) >> RankCandidatesStage(objective=objective)
    if plan.padding is None:
        return ranked >> StreamOfOneStage[RankedCandidates]()
    return plan.padding >> each(ranked)


def layers_stage() -> Stage[NetworkProblem, Iterator[MappingProblem]]:
    """The layers of a network in order, with the memories that the user pins."""
    return WorkloadStage() >> each(PinnedTopLevelsStage())


def candidates_stage(plan: SearchPlan) -> Stage[MappingProblem, Iterator[SpatialProblem]]:
    """The spatial mappings that a plan tries on a layer, and on its padded forms."""
    if plan.padding is None:
        return _ranked_candidates(plan)
    return plan.padding >> each(_ranked_candidates(plan)) >> FlattenStage[SpatialProblem]()


def _ranked_candidates(plan: SearchPlan) -> Stage[MappingProblem, Iterator[SpatialProblem]]:
    if plan.effective_rank is Rank.UTILIZATION:
        return plan.generator >> OrderedCandidatesStage()
    return PromisingMappingsStage(generator=plan.generator, objective=plan.objective)


def temporal_stage(plan: SearchPlan, ports: Ports) -> Evaluated:
    """The search of a spatial mapping by LOMA or SALSA, with the evaluations of all mappings."""
    return plan.effective_search.ranked(plan.effective_rank, ports)
