"""``nestmap evaluate``: the cost of a given mapping of one layer or of a whole network."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import Final
from uuid import UUID

from pydantic import ValidationError

from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.kernel.record import LOOPS
from nestmap.model import (
    CostModelEvaluation,
    Counting,
    Cuts,
    InfeasibleError,
    InputError,
    LayerResult,
    Loop,
    MappingProblem,
    NetworkEvaluation,
    NetworkProblem,
    RunLabel,
    SearchStatistics,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.model.errors import suggestion
from nestmap.model.evaluation.recording import UNLABELED
from nestmap.pipeline.cli.error_handling import exit_without_mapping
from nestmap.pipeline.cli.options.explore import EvaluateOptions
from nestmap.pipeline.cli.printing import (
    check_target,
    print_note,
    show,
    show_prose,
    show_table,
    show_text,
)
from nestmap.pipeline.cli.workload_argument import read_given_workload
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.replay import fixed_spatial, only_layer, replay
from nestmap.pipeline.format.mappings import sizes_text, spatial_text
from nestmap.pipeline.format.numbers import engineering
from nestmap.pipeline.render.json.results import full_json
from nestmap.pipeline.render.tables.mapping import cost_table, level_table, nest_table
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.network import counting_note, network_notes, totals
from nestmap.pipeline.render.text.plain_table import listing, printable
from nestmap.pipeline.stages import SpatialMappingConversionStage, WorkloadStage
from nestmap.pipeline.stages.mapping.layers import skipped_note
from nestmap.pipeline.util.atomic_files import write_json
from nestmap.search.temporal.loop_factors import temporal_sizes
from nestmap.search.temporal.pinned import allocate_order, place_pinned_levels

# --- parses a temporal mapping on the command line: an order of loops, and cuts per operand ---

_LOOP: Final = re.compile(r"([A-Za-z]\w{0,31})\s*[ =]\s*([0-9]{1,10})", re.ASCII)
_CUTS: Final = re.compile(r"\s*([A-Za-z]\w{0,31})\s*=\s*([0-9]{1,4}(?:\s*,\s*[0-9]{1,4})*)\s*")


def temporal_mapping(spatial: SpatialProblem, order: str, cuts: Sequence[str]) -> TemporalMapping:
    """The mapping for ``"C 2, FY 3"`` and ``["O=1,2", ...]``; without cuts, LOMA allocates.

    Raises:
        InputError: where the texts cannot be parsed, or the loops do not cover the layer.
        InfeasibleError: where the mapping does not fit the memories.
    """
    loops = parse_order(order)
    check_order(spatial, loops)
    if not cuts:
        return allocate_memories(spatial, loops)
    given = parse_cuts(spatial, cuts)
    try:
        mapping = TemporalMapping(order=loops, cuts=given)
    except ValidationError as error:
        raise InputError.of("--cut", error) from None
    check_fit(spatial, mapping)
    return mapping


def parse_order(text: str) -> tuple[Loop, ...]:
    """The loops of ``"C 2, FY 3, OX 56"``, innermost first.

    Raises:
        InputError: where the text cannot be parsed.
    """
    items = [item.strip() for item in text.split(",")]
    if len(items) > LOOPS:
        raise InputError("--order", f"{len(items)} loops", f"at most {LOOPS}")
    return tuple(_loop(item) for item in items)


def _loop(item: str) -> Loop:
    match = _LOOP.fullmatch(item)
    if match is None or not 0 < int(match[2]) < 2**31:
        raise InputError("--order", repr(item), 'a dimension and a size, as in "C 2, FY 3, OX 56"')
    return Loop(dimension=match[1].upper(), size=int(match[2]))


def check_order(spatial: SpatialProblem, order: Sequence[Loop]) -> None:
    """Checks that the loops cover exactly the iterations that the spatial mapping leaves.

    Raises:
        InputError: for a dimension that the layer lacks, or too few or too many iterations.
    """
    sizes, left = spatial.layer.sizes, temporal_sizes(spatial)
    for loop in order:
        if loop.dimension not in sizes:
            expected = f"a dimension of the layer: {suggestion(loop.dimension, tuple(sizes))}"
            raise InputError("--order", f"dimension {loop.dimension}", expected)
    for dimension, size in sizes.items():
        found = prod(loop.size for loop in order if loop.dimension == dimension)
        if found != left.get(dimension, 1):
            unrolled = spatial.spatial_mapping.factor_of(dimension)
            raise InputError(
                "--order",
                f"{found} iterations of {dimension}",
                f"{left.get(dimension, 1)} ({dimension} has size {size} and is unrolled "
                f"{unrolled} times). Remaining loops: {_listed(left)}",
            )


def _listed(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{dimension} {size}" for dimension, size in sizes.items()) or "nothing"


def parse_cuts(spatial: SpatialProblem, texts: Sequence[str]) -> tuple[Cuts, ...]:
    """The cuts of ``["O=1,3,3", ...]``, one for each operand of the layer.

    Raises:
        InputError: where a text cannot be parsed, or an operand or a memory is unknown or missing.
    """
    given = [_cuts(text) for text in texts]
    names = [operand.name for operand in spatial.layer.operands]
    for name, times in Counter(cuts.operand for cuts in given).items():
        if name not in names:
            raise InputError("--cut", f"operand {name}", suggestion(name, names))
        if times > 1:
            raise InputError("--cut", f"{times} cuts of operand {name}", "one for each operand")
    by_name = {cuts.operand: cuts for cuts in given}
    missing = [name for name in names if name not in by_name]
    if missing:
        found = f"cuts of {', '.join(by_name)} only"
        raise InputError("--cut", found, f"cuts of {' and '.join(missing)} as well")
    for cuts in given:
        _check_levels(spatial, cuts)
    return tuple(by_name[name] for name in names)


def _cuts(text: str) -> Cuts:
    match = _CUTS.fullmatch(text)
    if match is None:
        raise InputError("--cut", repr(text), "an operand and numbers of loops, as in O=1,3,3")
    positions = tuple(int(number) for number in match[2].split(","))
    try:
        return Cuts(operand=match[1], positions=positions)
    except ValidationError as error:
        raise InputError.of("--cut", error) from None


def _check_levels(spatial: SpatialProblem, cuts: Cuts) -> None:
    memories = [level.name for level in spatial.problem.levels(cuts.operand)]
    if len(cuts.positions) != len(memories):
        raise InputError(
            "--cut",
            f"{cuts.operand}={','.join(map(str, cuts.positions))}",
            f"a number for each memory of {cuts.operand}: {', '.join(memories)}",
        )


def allocate_memories(spatial: SpatialProblem, order: Sequence[Loop]) -> TemporalMapping:
    """The order of loops with the memory allocation that LOMA finds.

    Raises:
        InfeasibleError: where the memories cannot hold it; it names the one that is too small.
    """
    batch = allocate_order(spatial, order)
    for reason in batch.statistics.infeasible:
        raise InfeasibleError(f"--order: {reason.reason}")
    return batch.row(0)


def check_fit(spatial: SpatialProblem, mapping: TemporalMapping) -> None:
    """Checks the capacity of the memories that the cuts allocate, as the search does.

    Raises:
        InfeasibleError: for the first memory that is too small; it gives both sizes.
    """
    for reason in place_pinned_levels(spatial, mapping).statistics.infeasible:
        raise InfeasibleError(f"--cut: {reason.reason}")


# --- ``nestmap evaluate`` ---


def run_evaluate(options: EvaluateOptions) -> None:
    """Evaluates the mapping, writes the JSON file, prints the breakdown or the table of layers.

    Raises:
        NestmapError: where an option is invalid, or the mapping is infeasible.
    """
    used = (options.workload.name, options.accelerator, options.mapping, options.mapping_file)
    check_target("--json", options.json, (*used, options.store))
    label = RunLabel.of(options.run_name, options.tags)
    if options.store is None and label != UNLABELED:
        option = "--tag" if options.run_name is None else "--name"
        hint = "only recorded mappings have names and tags: give --store"
        raise InputError.conflict(option, "no --store", hint)
    if options.mapping_file is not None:
        _run_replay(options, options.mapping_file)
        return
    if options.order is None:
        found = "neither --order nor --mapping-file"
        raise InputError("nestmap evaluate", found, "one of them")
    if options.layer is None:
        raise InputError("nestmap evaluate", "--order without --layer", "the layer it is for")
    network = _network(options, options.mapping)
    spatial = SpatialMappingConversionStage()(_problem(network, options.layer))
    mapping = temporal_mapping(spatial, options.order, options.cuts)
    cme = evaluate(spatial, mapping)
    result = LayerResult(cme=cme, statistics=SearchStatistics(evaluations=1))
    evaluation = NetworkEvaluation(layers=(result,))
    run = _record(options, network, evaluation)
    _write(options, evaluation, run)
    _print_layer(spatial, cme)
    show_prose(counting_note(network.accelerator))
    _tell_place(options, run)


def _run_replay(options: EvaluateOptions, file: str) -> None:
    given = {"--order": options.order, "--cut": options.cuts, "--mapping": options.mapping}
    for option, value in given.items():
        if value:
            hint = "the file holds the complete mapping"
            raise InputError.conflict(option, "--mapping-file", hint)
    workload = read_given_workload(options.workload)
    network = _network(options, file)
    evaluation = replay(workload, network.accelerator, file, layer=options.layer)
    run = _record(options, network, evaluation)
    _write(options, evaluation, run)
    if options.layer is not None:
        (result,) = evaluation.layers
        spatial = fixed_spatial()(_problem(network, options.layer))
        _print_layer(spatial, result.cme)
        show_prose(counting_note(network.accelerator))
        _tell_place(options, run)
        return
    show_table(layer_table(evaluation, workload.layers))
    whole = totals(evaluation, workload.uncounted_operators)
    skipped = skipped_note(workload.layers, evaluation)
    for note in (whole, *network_notes(evaluation, network), skipped):
        show_prose(note)
    _tell_place(options, run)
    exit_without_mapping(evaluation.infeasible)


def _record(
    options: EvaluateOptions, network: NetworkProblem, evaluation: NetworkEvaluation
) -> UUID | None:
    """Records the evaluation as a run if the options name a store."""
    if options.store is None:
        return None
    # imported only when a store is used: DuckDB takes long to import
    from nestmap.pipeline.explore.record_evaluation import record_evaluation  # noqa: PLC0415

    label = RunLabel.of(options.run_name, options.tags)
    return record_evaluation(network, evaluation, options.store, label)


def _write(options: EvaluateOptions, evaluation: NetworkEvaluation, run: UUID | None) -> None:
    """Writes the JSON file; call it before printing, because the output pipe may be closed."""
    if options.json is not None:
        write_json(options.json, full_json(evaluation, run))


def _print_layer(spatial: SpatialProblem, cme: CostModelEvaluation) -> None:
    """The whole report on one mapping of one layer."""
    layer = spatial.layer
    show_text([f"{printable(layer.name)} ({printable(layer.operator)}): {layer.equation}"])
    show_text([f"{sizes_text(layer.loops)}: {engineering(layer.macs)} MACs"])
    if layer.padding:
        show_text([f"padded: {', '.join(map(str, layer.padding))}"])
    show_text([f"on {spatial.accelerator.name}: {spatial_text(spatial.spatial_mapping)}"])
    show_table(nest_table(cme.temporal_mapping, cme))
    show(listing(cost_table(cme)))
    show_table(level_table(cme))


def _tell_place(options: EvaluateOptions, run: UUID | None) -> None:
    if options.json is not None:
        print_note(f"Written to {options.json}.")
    if run is not None:
        print_note(f"Recorded in {options.store} as run {run}.")


def _network(options: EvaluateOptions, mapping: str | None) -> NetworkProblem:
    """The network with its accelerator and its mapping file."""
    network = read_network(
        read_given_workload(options.workload),
        options.accelerator,
        mapping,
        static_energy=options.static_energy,
    )
    counted = network.accelerator.counted(Counting.of(options.reference))
    return copy_with(network, {"accelerator": counted})


def _problem(network: NetworkProblem, layer: str) -> MappingProblem:
    """The layer with its entry in the mapping file."""
    return only_layer(WorkloadStage()(network), layer)
