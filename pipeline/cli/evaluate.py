"""``nestmap evaluate``: the cost of a given mapping of one layer or of a whole network."""

from __future__ import annotations

from uuid import UUID

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    InputError,
    LayerResult,
    MappingProblem,
    NetworkEvaluation,
    NetworkProblem,
    RunLabel,
    SearchStatistics,
    SpatialProblem,
)
from nestmap.model.run_label import UNLABELED
from nestmap.pipeline.cli.error_handling import exit_without_mapping
from nestmap.pipeline.cli.mapping_arguments import temporal_mapping
from nestmap.pipeline.cli.options.explore import EvaluateOptions
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import output_width, print_note, show, show_prose
from nestmap.pipeline.cli.workload_argument import read_given_workload
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.replay import fixed_spatial, only_layer, replay
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.render.json.results import full_json
from nestmap.pipeline.render.text.evaluation import breakdown
from nestmap.pipeline.render.text.network import infeasible_notes, layer_table, machine_note, totals
from nestmap.pipeline.render.text.vector import vector_note
from nestmap.pipeline.stages import SpatialMappingConversionStage, WorkloadStage
from nestmap.pipeline.stages.mapping.imc_skipped import skipped_note
from nestmap.pipeline.util.json import write_json


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
    _tell_place(options, run)


def _run_replay(options: EvaluateOptions, file: str) -> None:
    given = {"--order": options.order, "--cut": options.cuts, "--mapping": options.mapping}
    for option, value in given.items():
        if value:
            hint = "the file holds the complete mapping"
            raise InputError.conflict(option, "--mapping-file", hint)
    workload = read_given_workload(options.workload)
    accelerator = read_accelerator(options.accelerator, static_energy=options.static_energy)
    evaluation = replay(workload, accelerator, file, layer=options.layer)
    network = _network(options, file)
    run = _record(options, network, evaluation)
    _write(options, evaluation, run)
    if options.layer is not None:
        (result,) = evaluation.layers
        spatial = fixed_spatial()(_problem(network, options.layer))
        _print_layer(spatial, result.cme)
        _tell_place(options, run)
        return
    show(layer_table(workload.layers, evaluation, output_width()))
    skipped = skipped_note(workload.layers, evaluation)
    notes = (machine_note(evaluation), vector_note(evaluation), skipped)
    for note in (totals(evaluation), *infeasible_notes(evaluation.infeasible), *notes):
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
    show(breakdown(spatial, cme))


def _tell_place(options: EvaluateOptions, run: UUID | None) -> None:
    if options.json is not None:
        print_note(f"Written to {options.json}.")
    if run is not None:
        print_note(f"Recorded in {options.store} as run {run}.")


def _network(options: EvaluateOptions, mapping: str | None) -> NetworkProblem:
    """The network with its accelerator and its mapping file."""
    return read_network(
        read_given_workload(options.workload),
        options.accelerator,
        mapping,
        static_energy=options.static_energy,
    )


def _problem(network: NetworkProblem, layer: str) -> MappingProblem:
    """The layer with its entry in the mapping file."""
    return only_layer(WorkloadStage()(network), layer)
