"""Computation nodes on single cores: costs as of a layer alone, what streams, what cannot run."""

from collections.abc import Mapping, Sequence
from itertools import chain
from math import ceil
from typing import final

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    ArraySide,
    Dataflow,
    EvaluationBatch,
    InfeasibleError,
    InputError,
    Layer,
    LayerConstraints,
    Loop,
    MappingConstraints,
    MappingProblem,
    Objective,
    SpatialMapping,
    Tensor,
    Unrolling,
    VectorNode,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.mapping.problem import CoreProblem
from nestmap.model.multicore.accelerator import ComputeCore, MultiCoreAccelerator
from nestmap.model.multicore.cn_costs import INFEASIBLE, CoreCosts, RecordedCost
from nestmap.model.multicore.core_constraints import CoreAllocation, CoreMapping
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import CandidateRule, ScheduleOptions
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.model.workload.access import InputAccess, VectorNest
from nestmap.model.workload.builders import conv2d, linear, network
from nestmap.pipeline.explore.api import explore, read_network
from nestmap.pipeline.explore.plan import best_stage, candidates_stage
from nestmap.pipeline.explore.resume import recorded_problem
from nestmap.pipeline.frontend.read.accelerator import read_multicore
from nestmap.pipeline.multicore.core_plan import CORE_PLAN, core_cost_stage, core_search
from nestmap.pipeline.stage_graph import stage
from nestmap.pipeline.stages import ExactStage, GenerateCNWorkloadHybridStage, PaddingStage
from nestmap.pipeline.stages.mapping.temporal_search import Rank
from nestmap.pipeline.stages.multicore.intra_core import (
    CoreCostStage,
    CustomSpatialMappingGeneratorStage,
    DividingSpatialMappingStage,
    IntraCoreMappingStage,
    KeyedCosts,
    schedule_problem,
)
from nestmap.search import best_of
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from tests.loma import LOMA_PLAN
from tests.model.builders import memory
from tests.model.multicore.cores import buffer, core, star
from tests.search.multicore.split.networks import plain
from tests.search.temporal.stationary import has_dataflow

ROWS = SplitOptions(hints=((HintLoop(dimension="OY"),),))
LAYER_BY_LAYER = SplitOptions()


def split(
    workload: Workload,
    accelerator: MultiCoreAccelerator,
    options: SplitOptions = LAYER_BY_LAYER,
    *entries: CoreAllocation,
) -> SplitProblem:
    mapping = CoreMapping(entries=entries)
    problem = StreamProblem(workload=workload, accelerator=accelerator, mapping=mapping)
    return GenerateCNWorkloadHybridStage(options=options)(problem)


def convolutions(count: int = 2) -> Workload:
    """Equal convolutions, one after the other."""
    layers: list[Layer] = []
    for number in range(count):
        source = layers[-1] if layers else None
        weights = (8, 8, 3, 3)
        layers.append(conv2d(f"c{number}", (1, 8, 6, 6), weights, padding=1, source=source))
    return network("net", *layers)


def matrix(outputs: int = 8, inputs: int = 16, rows: int = 4) -> Workload:
    return network("net", linear("fc", (rows, inputs), outputs))


def buffered(size: int) -> ComputeCore:
    """A core with a register for an output in each unit, and a buffer for all of them."""
    levels = (
        memory("register", "O", size=32),
        memory("buffer", "I1", "I2", "O", served=("D1", "D2"), size=size),
    )
    only = core(0)
    return copy_with(only, {"accelerator": copy_with(only.accelerator, {"memories": levels})})


def equal(number: int, like: ComputeCore) -> ComputeCore:
    """The same core under another number."""
    return copy_with(like, {"id": number})


def large(number: int) -> ComputeCore:
    return core(number, memory=buffer(size=10**6))


def test_a_layer_on_a_core_with_room_costs_what_it_does_alone() -> None:
    layer = conv2d("c", (1, 16, 14, 14), (32, 16, 3, 3), padding=1)
    machine = read_multicore("quad_hetero")
    costs = CoreCostStage()(split(network("net", layer), machine))
    for number in (0, 2, 3):
        cores = machine.core(number)
        assert isinstance(cores, ComputeCore)
        alone = (
            explore(network("net", layer), cores.accelerator, search="loma", spatial_mappings=3)
            .layers[0]
            .cme
        )
        known = costs.cost_of(0, number)
        assert known is not None
        assert known.cost is not None
        assert known.cme == alone
        assert known.cost.runtime == ceil(alone.latency1)
        assert known.cost.onchip_energy == alone.energy
        assert known.cost.offchip_energy == 0.0
        assert known.cost.streamed == ()


def test_the_columns_say_what_the_models_say() -> None:
    split_net = split(convolutions(), star(core(0), large(3), core(4)), ROWS)
    found = CoreCostStage()(split_net)
    table = found.costs
    assert table.cores == (0, 3, 4)
    for place in range(len(split_net.nodes)):
        kind = int(table.kind[place])
        nest = split_net.nodes.layer_of(place)[0].nest
        names = ["O", *(read.operand for read in nest.inputs)]
        for column, number in enumerate(table.cores):
            known = found.cost_of(place, number)
            assert known is not None
            cost = known.cost
            assert cost is not None
            assert table.runtime[kind, column] == cost.runtime
            assert table.onchip[kind, column] == cost.onchip_energy
            assert table.offchip[kind, column] == cost.offchip_energy
            assert (table.read_rate[kind, column], table.write_rate[kind, column]) == (
                cost.read_rate,
                cost.write_rate,
            )
            bits = int(table.streamed[kind, column])
            assert tuple(x for i, x in enumerate(names) if bits >> i & 1) == cost.streamed


@pytest.mark.parametrize(
    ("size", "streamed"),
    [
        (4 * 16 * 8 + 4 * 8 * 8 + 16 * 8 * 8, ()),  # inputs, outputs, weights
        (4 * 16 * 8 + 4 * 8 * 8 + 16 * 8 * 8 - 8, ("W",)),
        (4 * 16 * 8 + 4 * 8 * 8 + 8, ("W",)),
        (4 * 8 * 8 + 3 * 64, ("W", "I")),
    ],
)
def test_the_largest_operands_stream(size: int, streamed: tuple[str, ...]) -> None:
    nothing = SpatialMapping(unrollings=(Unrolling(array_dimension="D1"),))
    machine = star(copy_with(buffered(size), {"dataflows": (nothing,)}))
    costs = CoreCostStage()(split(matrix(), machine))
    known = costs.cost_of(0, 0)
    assert known is not None
    assert known.cme is not None
    assert known.cost is not None
    assert sorted(known.cost.streamed) == sorted(streamed)
    off = [entry for entry in known.cme.levels if entry.memory == "dram"]
    assert sorted(entry.operand for entry in off) == sorted(streamed)
    assert known.cost.offchip_energy == pytest.approx(sum(entry.costs.energy for entry in off))
    assert known.cost.onchip_energy + known.cost.offchip_energy == pytest.approx(known.cme.energy)


def test_what_streams_passes_the_wires_once_at_their_pace() -> None:
    """Weights of 1024 bit, read once through wires of 32 bit/cycle from a DRAM of 15 pJ a bit."""
    machine = star(buffered(4 * 16 * 8 + 4 * 8 * 8 + 128))
    known = CoreCostStage(core_search(copy_with(LOMA_PLAN, {"objective": Objective.ENERGY})))(
        split(matrix(), machine)
    ).cost_of(0, 0)
    assert known is not None
    assert known.cost is not None
    assert known.cost.streamed == ("W",)
    assert known.cost.offchip_energy == pytest.approx(1024 * 15.0)
    assert known.cost.read_rate == ceil(1024 / known.cost.runtime)
    assert known.cost.write_rate == 0
    assert known.cost.runtime >= 1024 / 32


def test_rates_are_never_above_the_way() -> None:
    """A layer that does nothing but move: one operation for each element."""
    layer = linear("fc", (1, 512), 4)
    machine = star(core(0, memory=buffer(size=256)))
    known = CoreCostStage()(split(network("net", layer), machine)).cost_of(0, 0)
    assert known is not None
    assert known.cost is not None
    assert known.cost.streamed
    assert 0 < known.cost.read_rate <= 32


def counted(found: list[CoreProblem]) -> CoreCostStage:
    """The stage with a search that says what it is asked."""
    inner = core_search(LOMA_PLAN)

    def search(problem: CoreProblem) -> EvaluationBatch:
        found.append(problem)
        return inner(problem)

    return CoreCostStage(stage(search))


def test_equal_nodes_on_equal_cores_are_searched_once() -> None:
    found: list[CoreProblem] = []
    costs = counted(found)(split(convolutions(3), star(large(0), equal(1, large(0))), ROWS))
    assert [x.problem.layer.sizes["OY"] for x in found] == [1] * len(found)
    assert len(found) == len(costs.kinds) == 2  # rows at the ends, with padding, and the others
    names = {costs.cost_of(place, 0).cme.layer for place in range(18)}  # type: ignore[union-attr]
    assert names == {"c0"}


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("given", [(), (SpatialMapping(unrollings=()),)])
def test_the_exact_search_proves_the_best_mapping_of_a_core(
    objective: Objective, given: tuple[SpatialMapping, ...]
) -> None:
    found: list[CoreProblem] = []
    machine = copy_with(large(0), {"dataflows": given})
    counted(found)(split(convolutions(3), star(machine, equal(1, machine)), ROWS))
    plan = copy_with(LOMA_PLAN, {"objective": objective, "search": ExactStage()})
    assert found
    for problem in found:
        best = core_search(plan)(problem)
        mappings = list(CustomSpatialMappingGeneratorStage(candidates_stage(plan))(problem))
        assert (len(mappings) == 1) is bool(given)
        tasks = [exact(SearchTask(x), objective, ExactOptions()) for x in mappings]
        least = best_of(chain.from_iterable(tasks), objective).values(objective)[0]
        assert best.values(objective)[0] == least
        assert best.statistics.bounds is not None
        assert best.statistics.bounds.of(objective) == pytest.approx(least, rel=1e-9)
        loma = core_search(copy_with(LOMA_PLAN, {"objective": objective}))(problem)
        assert least <= loma.values(objective)[0]
        everywhere = copy_with(CORE_PLAN, {"objective": objective})
        every = core_search(everywhere)(problem).values(objective)[0]
        assert every <= least
        if given:
            continue
        for padding in (None, PaddingStage(percent=100)):
            padded = copy_with(everywhere, {"padding": padding})
            alone = best_stage(padded)(problem.problem).values(objective)[0]
            assert core_search(padded)(problem).values(objective)[0] == alone <= every


@final
class Notes:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.known: dict[str, RecordedCost] = {}

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        return {key: self.known[key] for key in keys if key in self.known}

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        self.known |= costs


def test_what_a_ledger_knows_is_not_searched() -> None:
    net = split(convolutions(), star(core(0), large(1)), ROWS)
    notes, told = Notes(), list[tuple[int, int]]()
    first = core_cost_stage(costs=notes, watcher=lambda done, all_: told.append((done, all_)))(net)
    assert told[-1][0] == told[-1][1] == len(told) == len(notes.known)

    def search(problem: CoreProblem) -> EvaluationBatch:
        raise AssertionError(problem)

    text = core_cost_stage(costs=notes).remembered
    again = CoreCostStage(stage(search), evaluate, text)(net)
    for name in ("kind", "runtime", "onchip", "offchip", "streamed", "read_rate", "write_rate"):
        assert np.array_equal(getattr(again.costs, name), getattr(first.costs, name))
    assert again.recorded == first.recorded


def test_keys_tell_apart_what_decides_a_cost() -> None:
    notes = Notes()
    plans = (
        LOMA_PLAN,
        copy_with(LOMA_PLAN, {"objective": Objective.ENERGY}),
        copy_with(LOMA_PLAN, {"rank": Rank.BOUND}),
    )
    for plan in plans:
        for accelerator in (star(core(0)), star(large(0))):
            stage_ = core_cost_stage(plan, costs=notes)
            stage_(split(matrix(), accelerator))
            stage_(split(network("other", linear("other", (4, 16), 8)), accelerator))
    assert len(notes.known) == 3 * 2  # names of layers and networks make no difference
    pruned = copy_with(LOMA_PLAN, {"prune": True})
    core_cost_stage(pruned, costs=notes)(split(matrix(), star(core(0))))
    assert len(notes.known) == 3 * 2


def test_pruning_finds_the_same() -> None:
    net = split(convolutions(), star(core(0), large(1)), ROWS)
    plain = core_cost_stage(LOMA_PLAN)(net).costs
    pruned = core_cost_stage(copy_with(LOMA_PLAN, {"prune": True}))(net).costs
    assert np.array_equal(plain.runtime, pruned.runtime)
    assert np.array_equal(plain.onchip, pruned.onchip)


def test_dataflows_are_what_a_core_runs() -> None:
    flow = SpatialMapping(
        unrollings=(
            Unrolling(array_dimension="D1", loops=(Loop(dimension="C", size=4),)),
            Unrolling(array_dimension="D2", loops=(Loop(dimension="K", size=2),)),
        )
    )
    machine = star(copy_with(large(0), {"dataflows": (flow,)}), large(1))
    costs = CoreCostStage()(split(convolutions(1), machine))
    fixed, free = costs.cost_of(0, 0), costs.cost_of(0, 1)
    assert fixed is not None
    assert fixed.cme is not None
    assert free is not None
    assert fixed.cme.spatial_mapping == flow
    assert free.cost is not None
    assert fixed.cost is not None
    assert free.cost.runtime <= fixed.cost.runtime


def test_the_usual_generator_may_be_another_one() -> None:
    core_problem = CoreProblem(problem=problem_of(convolutions(1)))
    stages = (CustomSpatialMappingGeneratorStage(), DividingSpatialMappingStage())
    usual = list(stages[0](core_problem))
    dividing = list(CustomSpatialMappingGeneratorStage(stages[1])(core_problem))
    assert len(usual) == 3
    assert len(dividing) > 3
    assert {x.problem for x in (*usual, *dividing)} == {core_problem.problem}


def problem_of(workload: Workload) -> MappingProblem:
    return MappingProblem(layer=workload.layers[0], accelerator=large(0).accelerator)


def test_genes_are_groups_on_the_cores_that_can_run_them() -> None:
    options = SplitOptions(hints=((HintLoop(dimension="K", tiles=2),),))
    small = core(1, memory=memory("buffer", "I1", "I2", "O", size=4))
    machine = star(large(0), small, large(2))
    problem = IntraCoreMappingStage(options=ScheduleOptions(rule=CandidateRule.MEMORY))(
        split(
            convolutions(), machine, options, CoreAllocation(target="c1", cores=(2, 0), fixed=True)
        )
    )
    genes = [(gene.layer, gene.group, gene.cores) for gene in problem.space.groups]
    assert genes == [(0, 0, (0, 2)), (0, 1, (0, 2)), (1, 0, (2,)), (1, 1, (0,))]
    assert problem.space.group_of.tolist() == [0, 1, 2, 3]
    assert problem.options.rule is CandidateRule.MEMORY
    assert problem.costs.runtime[:, 1].tolist() == [INFEASIBLE] * len(problem.costs.runtime)
    assert (problem.costs.runtime[:, 0] > 0).all()


def test_one_fixed_core_runs_all_groups() -> None:
    options = SplitOptions(hints=((HintLoop(dimension="K", tiles=4),),))
    entry = CoreAllocation(cores=(1,), fixed=True)
    costs = CoreCostStage()(split(convolutions(), star(large(0), large(1)), options, entry))
    assert {gene.cores for gene in schedule_problem(costs).space.groups} == {(1,)}
    assert {number for _, number in costs.recorded} == {1}


def mapped(net: SplitProblem) -> CoreCosts:
    costs = CoreCostStage()(net)
    schedule_problem(costs)
    return costs


def test_fixed_cores_for_too_few_groups_are_an_error() -> None:
    options = SplitOptions(hints=((HintLoop(dimension="K", tiles=4),),))
    entry = CoreAllocation(target="c1", cores=(0, 1), fixed=True)
    with pytest.raises(InputError, match="2 fixed cores for the 4 groups of layer c1"):
        mapped(split(convolutions(), star(large(0), large(1)), options, entry))


def test_a_layer_that_no_core_may_run_is_an_error() -> None:
    machine = star(core(0, operators=("Pool",)), large(1))
    net = split(convolutions(1), machine)
    barred = copy_with(net.problem, {"accelerator": star(core(0, operators=("Pool",)))})
    with pytest.raises(InputError, match="layer c0: found operator Conv, which no core of star"):
        mapped(SplitProblem(barred, net.options, net.nodes))


def test_a_core_without_a_memory_for_an_operand_says_so() -> None:
    machine = star(core(0, memory=memory("buffer", "I1", "O", served=("D1", "D2"))))
    with pytest.raises(InfeasibleError) as error:
        mapped(split(convolutions(1), machine))
    assert str(error.value) == (
        "layer c0 (Conv), group 0: no core can run it: core 0: core0 has memories for I1, O; a "
        "node needs one for each of O, W, I"
    )


def test_a_node_whose_least_part_fits_nowhere_says_what_is_too_small() -> None:
    tiny = memory("buffer", "I1", "I2", "O", served=("D1", "D2"), size=12)
    machine = star(core(0, memory=tiny), equal(1, core(0, memory=tiny)))
    with pytest.raises(InfeasibleError) as error:
        mapped(split(convolutions(1), machine))
    text = str(error.value)
    assert text.startswith("layer c0 (Conv), group 0: no core can run it: cores 0, 1: buffer too")
    assert "needs at least" in text
    assert "has 12" in text


def test_a_register_that_would_take_more_than_the_buffer_is_used_in_part() -> None:
    """Eight registers, each with room for most of the outputs, below a buffer with room for few."""
    register = memory("register", "O", size=2048)
    shared = memory("buffer", "I1", "I2", "O", served=("D1", "D2"), size=1024)
    only = core(0)
    accelerator = copy_with(only.accelerator, {"memories": (register, shared)})
    machine = star(copy_with(only, {"accelerator": accelerator}))
    costs = mapped(split(convolutions(1), machine))
    known = costs.cost_of(0, 0)
    assert known is not None
    assert known.cost is not None
    assert "O" in known.cost.streamed


def test_data_that_stays_on_chip_between_layers_is_for_a_schedule_to_say() -> None:
    plan = copy_with(LOMA_PLAN, {"keep_on_chip": True})
    with pytest.raises(InputError, match="keep_on_chip cannot be combined with several cores"):
        core_cost_stage(plan)


@pytest.mark.parametrize("name", ["quad_tpu", "quad_hetero", "dual_shared", "mesh_4x4", "simba"])
def test_every_machine_runs_every_row(name: str) -> None:
    machine = read_multicore(name)
    problem = IntraCoreMappingStage()(split(convolutions(), machine, ROWS))
    assert all(gene.cores for gene in problem.space.groups)
    kinds = problem.costs.kind[np.arange(len(problem.nodes))]
    assert (problem.costs.runtime[kinds].max(axis=1) > 0).all()


def test_equal_cores_have_one_key() -> None:
    notes = Notes()
    net = split(matrix(), star(core(0), equal(1, core(0)), large(2)))
    CoreCostStage(remembered=KeyedCosts(notes, "search"))(net)
    assert len(notes.known) == 2


def softmax(operations: int) -> Workload:
    """Rows of eight numbers, so many operations for each."""
    names = plain("D", "K")
    nest = VectorNest(
        loops=(Loop(dimension="D", size=4), Loop(dimension="K", size=8)),
        output=names,
        inputs=(InputAccess(axes=(names[0], None)),),
    )
    made = VectorNode(
        name="softmax",
        operator="Softmax",
        iterations=(4, 8),
        operations=operations,
        inputs=(Tensor(name="x", sizes=(4, 8), precision=8),),
        outputs=(Tensor(name="y", sizes=(4, 8), precision=8),),
        nest=nest,
    )
    return Workload.of(made)


def test_each_iteration_of_a_vector_operator_takes_its_operations() -> None:
    machine = star(copy_with(large(0), {"operators": ("Softmax",)}))
    found = [CoreCostStage()(split(softmax(n), machine)).cost_of(0, 0) for n in (1, 5)]
    cmes = [known.cme for known in found if known is not None]
    once, often = (cme for cme in cmes if cme is not None)
    assert often.ideal_temporal_cycles == 5 * once.ideal_temporal_cycles
    assert often.mac_energy == pytest.approx(5 * 4 * 8 * 0.5)
    assert often.memory_energy == once.memory_energy


def obeying(dataflow: Dataflow, *cores: ComputeCore) -> CoreCosts:
    """The costs of a convolution on cores, with a dataflow."""
    net = network("net", conv2d("c", (1, 8, 6, 6), (8, 8, 3, 3), padding=1))
    machine = star(*cores) if cores else read_multicore("quad_hetero")
    return CoreCostStage()(split(net, machine, LAYER_BY_LAYER, CoreAllocation(dataflow=dataflow)))


@pytest.mark.parametrize("dataflow", Dataflow, ids=str)
def test_costs_obey_the_dataflow_of_the_mapping(dataflow: Dataflow) -> None:
    costs = obeying(dataflow)
    constraints = MappingConstraints(entries=(LayerConstraints(dataflow=dataflow),))
    workload, machine = costs.split.problem.workload, costs.split.problem.accelerator
    known = 0
    for number in (0, 2, 3):
        cores = machine.core(number)
        assert isinstance(cores, ComputeCore)
        found = costs.cost_of(0, number)
        if found is None:
            assert dataflow in costs.infeasible[0, number]
            continue
        alone = explore(
            workload, cores.accelerator, constraints, search="loma", spatial_mappings=3
        ).layers[0]
        assert found.cme == alone.cme
        spatial = recorded_problem(
            read_network(workload, cores.accelerator, constraints), alone.cme
        )
        assert has_dataflow(spatial, alone.cme.temporal_mapping, dataflow)
        known += 1
    assert known


def test_a_core_without_the_unrollings_of_a_dataflow_does_not_run_the_layer() -> None:
    # of 4 x 2 units, three rows of weights and two of the output
    short = large(0)
    array = copy_with(short.accelerator.array, {"sides": (ArraySide(name="D1", size=2),)})
    levels = (memory("buffer", "I1", "I2", "O", served=("D1",), size=10**6),)
    changed: dict[str, object] = {"array": array, "memories": levels}
    narrow = copy_with(short, {"id": 1, "accelerator": copy_with(short.accelerator, changed)})
    costs = obeying(Dataflow.ROW_STATIONARY, short, narrow)
    assert costs.cost_of(0, 0) is not None
    assert costs.infeasible == {
        (0, 1): "dataflow row_stationary for layer c: found no spatial mapping that unrolls FY 3 "
        "times and OY 2 times; expected room for them on the array, within the spatial_mapping "
        "and the hints"
    }
    assert {gene.cores for gene in schedule_problem(costs).space.groups} == {(0,)}


def test_so_does_one_whose_own_spatial_mappings_have_not() -> None:
    rows, channels = (
        SpatialMapping(
            unrollings=(
                Unrolling(array_dimension="D1", loops=(Loop(dimension=d, size=4),)),
                Unrolling(array_dimension="D2", loops=(Loop(dimension="OY", size=2),)),
            )
        )
        for d in ("FY", "K")
    )
    both, one = (
        copy_with(large(i), {"dataflows": x}) for i, x in ((0, (rows, channels)), (1, (channels,)))
    )
    costs = obeying(Dataflow.ROW_STATIONARY, both, one)
    found = costs.cost_of(0, 0)
    assert found is not None
    assert found.cme is not None
    assert found.cme.spatial_mapping.factors == {"FY": 3, "OY": 2}
    assert "no spatial mapping that unrolls FY 3 times" in costs.infeasible[0, 1]


def test_each_layer_has_its_own_dataflow() -> None:
    entries = (
        CoreAllocation(target="c1", dataflow=Dataflow.OUTPUT_STATIONARY),
        CoreAllocation(dataflow=Dataflow.WEIGHT_STATIONARY),
    )
    costs = CoreCostStage()(split(convolutions(3), star(large(0)), LAYER_BY_LAYER, *entries))
    numbers: list[int] = costs.kinds.kind.tolist()
    assert [costs.kinds.kinds[number].dataflow for number in numbers] == [
        Dataflow.WEIGHT_STATIONARY,
        Dataflow.OUTPUT_STATIONARY,
        Dataflow.WEIGHT_STATIONARY,
    ]
