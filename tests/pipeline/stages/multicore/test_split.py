"""The stages for several cores: from files to computation nodes, layers split on the way."""

from pathlib import Path
from typing import Final

import pytest

from nestmap.model import Counting, InputError, LayerNode, Workload, layer_from_equation
from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import ComputeCore, MultiCoreAccelerator
from nestmap.model.multicore.core_constraints import CoreAllocation, CoreMapping
from nestmap.model.multicore.problem import SplitProblem, StreamProblem, StreamSources
from nestmap.model.multicore.split_options import HintLoop, SplitMode, SplitOptions
from nestmap.pipeline.frontend.bundled import resolve_multicore
from nestmap.pipeline.frontend.read.accelerator import read_multicore
from nestmap.pipeline.stages import (
    GenerateCNWorkloadHybridStage,
    LayerSplittingStage,
    StreamONNXModelParserStage,
    UserDefinedModelParserStage,
    split_options,
)
from nestmap.pipeline.stages.multicore.layer_splitting import Fitting
from tests.golden.test_stream_nodes import COMPUTED, RECORDED, recorded, same_node

RESNET: Final = RECORDED / "resnet18.onnx"
ROWS: Final = split_options(1, [("OY", "all")], counting=Counting.REFERENCE)


@pytest.fixture(scope="module")
def resnet() -> StreamProblem:
    sources = StreamSources(workload=RESNET, accelerator=resolve_multicore("quad_tpu"))
    return StreamONNXModelParserStage()(sources)


def running(problem: StreamProblem, operators: frozenset[str]) -> StreamProblem:
    """The problem with cores that name no vector operators but these."""
    cores = tuple(
        copy_with(core, {"operators": tuple(sorted({*core.operators} & operators)) or ("None",)})
        if isinstance(core, ComputeCore) and core.operators
        else core
        for core in problem.accelerator.cores
    )
    return copy_with(problem, {"accelerator": copy_with(problem.accelerator, {"cores": cores})})


@pytest.mark.parametrize(("name", "options"), [("resnet18_OY", ROWS), ("resnet18_lbl", None)])
def test_resnet18_is_split_as_stream_does(
    resnet: StreamProblem, name: str, options: SplitOptions | None
) -> None:
    layers = SplitOptions(counting=Counting.REFERENCE)
    stage = GenerateCNWorkloadHybridStage(options=options or layers)
    found = stage(running(resnet, frozenset(COMPUTED))).nodes
    expected = recorded(name)
    made = {(node.id.layer, node.id.node): node for node in found.nodes()}
    assert list(made) == [node.id for node in expected.nodes]
    for node in expected.nodes:
        same_node(made[node.id], node)
    edges = [found.edge(row) for row in range(len(found.edges))]
    assert sorted(
        ((e.producer.layer, e.producer.node), (e.consumer.layer, e.consumer.node), e.bits)
        for e in edges
    ) == sorted((producer, consumer, bits) for producer, consumer, _, bits in expected.edges)


def convolution(name: str, source: str | None = None, k: int = 8, c: int = 8) -> LayerNode:
    layer = layer_from_equation(
        "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]",
        {"B": 1, "G": 1, "K": k, "C": c, "OY": 4, "OX": 4, "FY": 3, "FX": 3},
        name=name,
        operator="Conv",
        relations=["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
        sources={"I": source} if source else {},
        constants=["W"],
        axes={"IX": (4, (1, 1)), "IY": (4, (1, 1))},
    )
    return LayerNode(layer=layer)


def problem_of(*layers: LayerNode, mapping: CoreMapping | None = None) -> StreamProblem:
    return StreamProblem(
        workload=Workload.of(*layers, name="net"),
        accelerator=small(read_multicore("quad_tpu"), dict.fromkeys(range(4), 4 * 576)),
        mapping=mapping or CoreMapping(),
    )


def small(machine: MultiCoreAccelerator, bits: dict[int, int]) -> MultiCoreAccelerator:
    """The machine with outermost memories of so many bits in these cores."""
    cores = tuple(
        with_memory(core, bits[core.id])
        if isinstance(core, ComputeCore) and core.id in bits
        else core
        for core in machine.cores
    )
    return copy_with(machine, {"cores": cores})


def with_memory(core: ComputeCore, bits: int) -> ComputeCore:
    top = core.top_levels["I2"]
    memories = tuple(
        copy_with(level, {"instance": copy_with(level.instance, {"size": bits})})
        if level == top
        else level
        for level in core.accelerator.memories
    )
    return copy_with(core, {"accelerator": copy_with(core.accelerator, {"memories": memories})})


TWO: Final = (convolution("a"), convolution("b", "a", k=4))
"""Constants of 4608 and 2304 bit; the cores' memories have 2304."""


def parts_of(problem: StreamProblem) -> list[tuple[str, int]]:
    return [(layer.name, layer.sizes["K"]) for layer in problem.workload.layers]


def test_layers_that_fit_no_core_are_split() -> None:
    assert parts_of(LayerSplittingStage()(problem_of(*TWO))) == [
        ("a_split_0", 4),
        ("a_split_1", 4),
        ("b", 4),
    ]
    halved = LayerSplittingStage(share=0.5)(problem_of(*TWO))
    assert [k for _, k in parts_of(halved)] == [2] * 6
    assert halved.workload.macs == problem_of(*TWO).workload.macs
    assert LayerSplittingStage(share=0.5)(halved) == halved


def test_what_fits_some_core_need_not_fit_every_one() -> None:
    problem = problem_of(*TWO)
    sizes = {0: 4608, 1: 2304, 2: 2304, 3: 1152}
    uneven = copy_with(problem, {"accelerator": small(problem.accelerator, sizes)})
    assert LayerSplittingStage()(uneven) == uneven
    every = LayerSplittingStage(fitting=Fitting.EVERY_CORE)(uneven)
    assert [k for _, k in parts_of(every)] == [2] * 6
    pinned = CoreMapping(entries=(CoreAllocation(target="a", cores=(1, 2)),))
    some = LayerSplittingStage()(copy_with(uneven, {"mapping": pinned}))
    assert [name for name, _ in parts_of(some)] == ["a_split_0", "a_split_1", "b"]


def test_the_parts_are_mapped_as_the_layer_was() -> None:
    entries = (
        CoreAllocation(target="a", cores=(1, 2), fixed=True),
        CoreAllocation(target="Conv", cores=(3,)),
    )
    made = LayerSplittingStage()(problem_of(*TWO, mapping=CoreMapping(entries=entries)))
    cores = {
        x.name: [core.id for core in made.cores_of(LayerNode(layer=x))]
        for x in made.workload.layers
    }
    assert cores == {"a_split_0": [1], "a_split_1": [2], "b": [3]}
    chosen = CoreMapping(entries=(CoreAllocation(target="a", cores=(0, 1, 2)),))
    made = LayerSplittingStage()(problem_of(*TWO, mapping=chosen))
    assert [x.target for x in made.mapping.entries] == ["a_split_0", "a_split_1"]
    assert {x.cores for x in made.mapping.entries} == {(0, 1, 2)}


def test_single_channels_that_fit_no_core() -> None:
    with pytest.raises(InputError, match=r"layer a: found constants W of 4608 bit"):
        LayerSplittingStage(share=0.01)(problem_of(*TWO))


def test_constants_that_are_too_large_split_k() -> None:
    """Mode 4: for the smallest memory of the cores that a layer may run on."""
    mapping = CoreMapping(entries=(CoreAllocation(target="b", cores=(3,)),))
    problem = problem_of(*TWO, mapping=mapping)
    sizes = {0: 4608, 1: 2304, 2: 2304, 3: 1152}
    uneven = copy_with(problem, {"accelerator": small(problem.accelerator, sizes)})
    options = split_options(4, [], split_W_percentage=0.5)
    nodes = GenerateCNWorkloadHybridStage(options=options)(uneven).nodes
    assert [layer.tiling.count for layer in nodes.layers] == [8, 4]
    with pytest.raises(InputError, match=r"layer a: found constants of 4608 bit.*at most"):
        GenerateCNWorkloadHybridStage(options=split_options(4, [], split_W_percentage=0.1))(uneven)


def test_vector_operators_are_nodes_where_a_core_names_them_or_the_mapping_does(
    resnet: StreamProblem,
) -> None:
    def nodes_of(problem: StreamProblem) -> set[str]:
        return {
            node.operator for node in problem.workload.vector_nodes if problem.is_computed(node)
        }

    bare = running(resnet, frozenset({"Add"}))
    assert nodes_of(bare) == {"Add"}
    pool = CoreMapping(entries=(CoreAllocation(target="MaxPool", cores=(0,)),))
    assert nodes_of(copy_with(bare, {"mapping": pool})) == {"Add", "MaxPool"}
    every = CoreMapping(entries=(CoreAllocation(cores=(0, 1)),))
    assert nodes_of(copy_with(bare, {"mapping": every})) == {"Add"}


def test_without_options_the_tilings_of_the_mapping_count() -> None:
    rows = CoreAllocation(target="b", intra=(HintLoop(dimension="OY"),))
    problem = problem_of(*TWO, mapping=CoreMapping(entries=(rows,)))
    found = GenerateCNWorkloadHybridStage()(problem)
    assert [layer.tiling.count for layer in found.nodes.layers] == [1, 4]
    assert found.options.mode is SplitMode.PER_LAYER
    plain = GenerateCNWorkloadHybridStage()(problem_of(*TWO))
    assert [layer.tiling.count for layer in plain.nodes.layers] == [1, 1]


def edges_by_name(found: SplitProblem) -> set[tuple[str, int, str, int, str | None, int]]:
    names = {layer.nest.number: layer.nest.name for layer in found.nodes.layers}
    edges = (found.nodes.edge(row) for row in range(len(found.nodes.edges)))
    return {
        (
            names[x.producer.layer],
            x.producer.node,
            names[x.consumer.layer],
            x.consumer.node,
            x.operand,
            x.bits,
        )
        for x in edges
    }


def test_the_order_of_the_layers_changes_nothing(resnet: StreamProblem) -> None:
    nodes = resnet.workload.nodes
    backwards = copy_with(resnet.workload, {"nodes": (*nodes[1::2], *nodes[::2])})
    generate = LayerSplittingStage(share=0.25) >> GenerateCNWorkloadHybridStage(
        options=split_options(1, [("OY", 7), ("K", 2)])
    )
    found = edges_by_name(generate(resnet))
    assert found == edges_by_name(generate(copy_with(resnet, {"workload": backwards})))


def test_from_yaml_files(tmp_path: Path) -> None:
    workload, mapping = tmp_path / "net.yaml", tmp_path / "mapping.yaml"
    workload.write_text(
        "- {id: 0, name: fc, operator_type: Gemm, equation: 'O[b][k]+=W[k][c]*I[b][c]', "
        "loop_dims: [B, K, C], loop_sizes: [1, 6, 4], operand_precision: {W: 8, I: 8, O: 16, "
        "O_final: 8}, operand_source: {I: 0, W: 0}}\n"
    )
    mapping.write_text("- {name: fc, core_allocation: [1, 2]}\n")
    sources = StreamSources(
        workload=workload, accelerator=resolve_multicore("quad_tpu"), mapping=mapping
    )
    problem = UserDefinedModelParserStage()(sources)
    (node,) = problem.workload.nodes
    assert isinstance(node, LayerNode)
    assert [core.id for core in problem.cores_of(node)] == [1, 2]
    mapping.write_text("- {name: fcc, core_allocation: [1, 2]}\n")
    with pytest.raises(InputError, match=r"mapping.yaml:1: name 'fcc'"):
        UserDefinedModelParserStage()(sources)


def test_loops_as_one_text_are_refused_as_a_whole() -> None:
    with pytest.raises(InputError, match=r"hint_loops: found 'OY=4'; expected a list"):
        split_options(1, "OY=4")  # type: ignore[arg-type]


def test_a_dimension_that_no_layer_has() -> None:
    options = split_options(1, [("OY", "all"), ("OYY", 2)])
    with pytest.raises(InputError, match=r"hint_loops: found dimension OYY, .* expected OY \("):
        GenerateCNWorkloadHybridStage(options=options)(problem_of(*TWO))


@pytest.mark.parametrize("cutoff", [-1, 2, 9])
def test_a_list_of_loops_for_no_layer(cutoff: int) -> None:
    options = split_options(3, [[], [("K", 2)]], [cutoff])
    with pytest.raises(InputError, match=r"layer_cutoffs: found .*; expected 1 to 1"):
        GenerateCNWorkloadHybridStage(options=options)(problem_of(*TWO))


def test_a_layer_that_no_core_runs() -> None:
    other = copy_with(TWO[0], {"layer": copy_with(TWO[0].layer, {"operator": "Other"})})
    problem = problem_of(other)
    cores = tuple(
        copy_with(core, {"operators": ("Conv",)}) if isinstance(core, ComputeCore) else core
        for core in problem.accelerator.cores
    )
    machine = copy_with(problem.accelerator, {"cores": cores})
    with pytest.raises(InputError, match=r"layer a: found operator Other, which no core"):
        GenerateCNWorkloadHybridStage()(copy_with(problem, {"accelerator": machine}))


def test_a_network_without_anything_to_compute() -> None:
    problem = copy_with(problem_of(*TWO), {"workload": Workload(name="empty", nodes=())})
    with pytest.raises(InputError, match="workload empty: found no node to compute"):
        GenerateCNWorkloadHybridStage()(problem)


def test_the_words_of_stream() -> None:
    assert split_options(1, [("oy", "all"), ("K", 4)]) == SplitOptions(
        hints=((HintLoop(dimension="OY"), HintLoop(dimension="K", tiles=4)),)
    )
    given = split_options(3, [[("OY", "all")], []], [5], counting=Counting.REFERENCE)
    assert (given.mode, given.cutoffs, len(given.hints)) == (SplitMode.PER_LAYER, (5,), 2)
    assert split_options(4, [], split_W_percentage=0.5).weight_share == 0.5


WRONG: Final[list[tuple[tuple[object, ...], str]]] = [
    ((5, ()), "cn_define_mode: found 5; expected 1, 2, 3 or 4"),
    ((1, [("OY", 0)]), r"hint_loops: found \('OY', 0\)"),
    ((1, [("OY", "some")]), r"hint_loops: found \('OY', 'some'\)"),
    ((1, [("O Y", 2)]), r"hint_loops: found \('O Y', 2\)"),
    ((3, [("OY", 2)]), "hint_loops: found 'OY'"),
    ((3, ((("OY", 2),), ())), "layer_cutoffs: found 0 for 2 lists of hint_loops; expected 1,"),
    ((1, [("OY", 2)], [4]), "layer_cutoffs: found 1 for 1 lists of hint_loops; expected 0,"),
    ((3, ((), (), ()), [5, 4]), r"split options: found layer cutoffs \(5, 4\)"),
    ((4, (), (), 1.5), "split options: found 1.5 as weight_share"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_options_that_are_not_right(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_options(*arguments)  # type: ignore[arg-type]
