"""Stages that parse a problem for several cores and split it into computation nodes."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, final

from pydantic import ValidationError

from nestmap.model import (
    Counting,
    Frozen,
    InputError,
    LayerNode,
    NoCostNode,
    VectorNode,
    Workload,
    narrow_sums,
)
from nestmap.model.errors import suggestion
from nestmap.model.multicore.cn_layer import LayerNest
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.core_constraints import (
    CoreMapping,
    check_allocations,
    split_from_hints,
)
from nestmap.model.multicore.placed_tilings import resolve_names
from nestmap.model.multicore.problem import SplitProblem, StreamProblem, StreamSources
from nestmap.model.multicore.split_options import HintLoop, Hints, SplitMode, SplitOptions
from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.multicore.split.split_workload import split_workload

# --- options for splitting a network, with the argument names of Stream ---

GivenLoop = tuple[str, int | str]
"""A loop dimension and a number of tiles, or ``"all"``: ``("OY", "all")``."""

GivenLoops = Sequence[GivenLoop | Sequence[GivenLoop]]
"""Loops, innermost first; in mode 3 several such lists."""

_LOOP: Final = 'a loop dimension and a number of tiles above 0 or "all", such as ("OY", "all")'


def split_options(
    cn_define_mode: int,
    hint_loops: GivenLoops,
    layer_cutoffs: Sequence[int] = (),
    split_W_percentage: float = 1.0,  # noqa: N803 (as in Stream)
    counting: Counting = Counting.EXACT,
) -> SplitOptions:
    """Makes split options from Stream's arguments.

    Args:
        cn_define_mode: 1 to 4, see :class:`~nestmap.model.multicore.split_options.SplitMode`.
        hint_loops: loops, innermost first; in mode 3 one such list for each range of layers.
        layer_cutoffs: in mode 3, the numbers of the nodes at which the next list begins.
        split_W_percentage: in mode 4, the fraction of the smallest memory that constants may
            occupy.
        counting: exact ranges, or as Stream counts.

    Raises:
        InputError: where an argument is invalid, or the arguments contradict each other.
    """
    modes = {int(mode): mode for mode in SplitMode}
    if cn_define_mode not in modes:
        raise InputError("cn_define_mode", str(cn_define_mode), "1, 2, 3 or 4")
    lists = _lists(hint_loops, modes[cn_define_mode])
    if len(lists) != len(layer_cutoffs) + 1:
        raise InputError(
            "layer_cutoffs",
            f"{len(layer_cutoffs)} for {len(lists)} lists of hint_loops",
            f"{len(lists) - 1}, one fewer than there are lists"
            if lists
            else "a list of hint_loops",
        )
    try:
        return SplitOptions(
            mode=modes[cn_define_mode],
            hints=lists,
            cutoffs=tuple(layer_cutoffs),
            weight_share=split_W_percentage,
            counting=counting,
        )
    except ValidationError as error:
        raise InputError.of("split options", error) from None


def _lists(given: GivenLoops, mode: SplitMode) -> tuple[Hints, ...]:
    """The lists of loops: one, or several in mode 3."""
    if isinstance(given, str):  # a string is a sequence, too
        raise InputError("hint_loops", repr(given), f"a list of loops, each {_LOOP}")
    if mode is SplitMode.PER_LAYER:
        return tuple(_hints(loops) for loops in given)
    return (_hints(given),)


def _hints(loops: Iterable[object]) -> Hints:
    return tuple(_hint(loop) for loop in loops)


def _hint(loop: object) -> HintLoop:
    text = repr(loop)
    match loop:
        case (str(dimension), str() | int() as tiles):
            with suppress(ValidationError):
                count = None if tiles == "all" else tiles
                return HintLoop.model_validate({"dimension": dimension.upper(), "tiles": count})
        case _:
            pass
    raise InputError("hint_loops", text, _LOOP)


class StreamONNXModelParserStage(Frozen, Stage[StreamSources, StreamProblem], frozen=True):
    """Reads the workload from an ONNX file, and the cores and the mapping from YAML files.

    Raises:
        InputError: where a file is invalid, or the mapping does not suit the other two.
    """

    def __call__(self, sources: StreamSources, /) -> StreamProblem:
        # imported only when an ONNX file is read
        from nestmap.pipeline.frontend.onnx_process.client import read_onnx  # noqa: PLC0415

        return _problem(read_onnx(sources.workload), sources)


class UserDefinedModelParserStage(Frozen, Stage[StreamSources, StreamProblem], frozen=True):
    """Reads the workload from a YAML list of layers, and the cores and the mapping from YAML files.

    Raises:
        InputError: where a file is invalid, or the mapping does not suit the other two.
    """

    def __call__(self, sources: StreamSources, /) -> StreamProblem:
        return _problem(parse_workload_yaml(sources.workload), sources)


def _problem(workload: Workload, sources: StreamSources) -> StreamProblem:
    accelerator = parse_multicore(sources.accelerator)
    workload = narrow_sums(workload, accelerator.room_for_sums)
    mapping = CoreMapping() if sources.mapping is None else parse_core_mapping(sources.mapping)
    mapping = resolve_names(mapping, workload)
    check_allocations(mapping, workload, accelerator, str(sources.mapping or "mapping"))
    return StreamProblem(workload=workload, accelerator=accelerator, mapping=mapping)


class GenerateCNWorkloadHybridStage(Frozen, Stage[StreamProblem, SplitProblem], frozen=True):
    """Splits the network of a problem into computation nodes.

    Without ``options``, the tilings of the mapping apply; without tilings, it splits layer by
    layer.

    Raises:
        InputError: where a hint is over a dimension that no layer has, a list of hints is for no
            layer, the network has no layer to compute, a layer has no core, or its constants
            fit none however split, or an input has another shape than its source.
    """

    options: SplitOptions | None = None

    def __call__(self, problem: StreamProblem, /) -> SplitProblem:
        workload = problem.workload
        options = self.options or split_from_hints(problem.mapping, workload) or SplitOptions()
        _check_sources(workload)
        _check_cutoffs(options, len(workload.nodes))
        if not any(_is_computed(problem, node) for node in workload.nodes):
            raise InputError(
                f"workload {workload.name}",
                "no node to compute",
                "a layer, or a vector operator that some core names or the mapping allocates",
            )
        nodes = split_workload(
            workload, options, problem.is_computed, _Rooms(problem).smallest, problem.accelerator
        )
        _check_hints(options, nodes, problem.mapping)
        return SplitProblem(problem, options, nodes)


def _is_computed(problem: StreamProblem, node: Node) -> bool:
    return isinstance(node, LayerNode) or (
        isinstance(node, VectorNode) and problem.is_computed(node)
    )


@final
class _Rooms:
    """The capacity of the cores of a problem for constants."""

    def __init__(self, problem: StreamProblem) -> None:
        self._problem = problem
        self._nodes = {node.name: node for node in problem.workload.nodes}

    def smallest(self, nest: LayerNest) -> int | None:
        """The smallest capacity for constants, in bits, of the cores that may run a node."""
        node = self._nodes[nest.name]
        if isinstance(node, NoCostNode) or not self._problem.cores_of(node):
            raise InputError(
                f"layer {nest.name}",
                f"operator {nest.operator}, which no core of {self._problem.accelerator.name} runs",
                "a core that names this operator, or that names none",
            )
        if not nest.constants:
            return None
        rooms = self._problem.constant_capacities(node, nest.constants[-1].operand)
        return min(rooms, default=None)


def _check_sources(workload: Workload) -> None:
    """Checks that layers read what their sources write, on which a schedule depends."""
    for layer in workload.layers:
        for operand in layer.inputs:
            if operand.other_source is not None:
                found = f"{operand.name} from {operand.other_source}, which has another shape"
                expected = (
                    "the same sizes, less the padding, where cores hand on data; several layers "
                    "are a concatenation, as in operand_source: {I: [3, 41]}"
                )
                raise InputError(f"layer {layer.name}", found, expected)


def _check_cutoffs(options: SplitOptions, nodes: int) -> None:
    for cutoff in options.cutoffs:
        if not 0 < cutoff < nodes:
            raise InputError(
                "layer_cutoffs",
                f"{cutoff} for a network of {nodes} nodes",
                f"1 to {nodes - 1}: a list of loops is for the nodes from its cutoff on",
            )


def _check_hints(options: SplitOptions, nodes: CnWorkload, mapping: CoreMapping) -> None:
    """Checks the loops that the options split; those of a mapping are skipped where none fits."""
    tiled = {hint.dimension for entry in mapping.entries for hint in entry.hints}
    known = sorted({dimension for layer in nodes.layers for dimension in layer.nest.sizes})
    for hint in (hint for hints in options.hints for hint in hints):
        if hint.dimension not in known and hint.dimension not in tiled:
            raise InputError(
                "hint_loops",
                f"dimension {hint.dimension}, which no layer has",
                suggestion(hint.dimension, known),
            )
