"""``nestmap evaluate``: the cost of a given mapping of one layer or of a whole network."""

from __future__ import annotations

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    InputError,
    LayerResult,
    MappingProblem,
    NetworkEvaluation,
    SearchStatistics,
    SpatialProblem,
)
from nestmap.pipeline.cli.mapping_arguments import temporal_mapping
from nestmap.pipeline.cli.options.explore import EvaluateOptions
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import output_width, print_note, show, show_prose
from nestmap.pipeline.cli.workload_argument import read_given_workload
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.replay import fixed_spatial, only_layer, replay
from nestmap.pipeline.frontend.read import read_accelerator
from nestmap.pipeline.render.json.results import full_json
from nestmap.pipeline.render.text.evaluation import breakdown
from nestmap.pipeline.render.text.network import layer_table, machine_note, totals
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
    check_target("--json", options.json, used)
    if options.mapping_file is not None:
        _run_replay(options, options.mapping_file)
        return
    if options.order is None:
        found = "neither --order nor --mapping-file"
        raise InputError("nestmap evaluate", found, "one of them")
    if options.layer is None:
        raise InputError("nestmap evaluate", "--order without --layer", "the layer it is for")
    problem = _problem(options, options.mapping, options.layer)
    spatial = SpatialMappingConversionStage()(problem)
    mapping = temporal_mapping(spatial, options.order, options.cuts)
    cme = evaluate(spatial, mapping)
    result = LayerResult(cme=cme, statistics=SearchStatistics(evaluations=1))
    _write(options, NetworkEvaluation(layers=(result,)))
    _print_layer(options, spatial, cme)


def _run_replay(options: EvaluateOptions, file: str) -> None:
    given = {"--order": options.order, "--cut": options.cuts, "--mapping": options.mapping}
    for option, value in given.items():
        if value:
            hint = "the file holds the complete mapping"
            raise InputError.conflict(option, "--mapping-file", hint)
    workload = read_given_workload(options.workload)
    accelerator = read_accelerator(options.accelerator, static_energy=options.static_energy)
    evaluation = replay(workload, accelerator, file, layer=options.layer)
    _write(options, evaluation)
    if options.layer is not None:
        (result,) = evaluation.layers
        spatial = fixed_spatial()(_problem(options, file, options.layer))
        _print_layer(options, spatial, result.cme)
        return
    show(layer_table(workload.layers, evaluation, output_width()))
    skipped = skipped_note(workload.layers, evaluation)
    for note in (totals(evaluation), machine_note(evaluation), vector_note(evaluation), skipped):
        show_prose(note)
    _tell_place(options)


def _write(options: EvaluateOptions, evaluation: NetworkEvaluation) -> None:
    """Writes the JSON file; call it before printing, because the output pipe may be closed."""
    if options.json is not None:
        write_json(options.json, full_json(evaluation))


def _print_layer(
    options: EvaluateOptions, spatial: SpatialProblem, cme: CostModelEvaluation
) -> None:
    show(breakdown(spatial, cme))
    _tell_place(options)


def _tell_place(options: EvaluateOptions) -> None:
    if options.json is not None:
        print_note(f"Written to {options.json}.")


def _problem(options: EvaluateOptions, mapping: str | None, layer: str) -> MappingProblem:
    """The layer with its accelerator and its entry in the mapping file."""
    network = read_network(
        read_given_workload(options.workload),
        options.accelerator,
        mapping,
        static_energy=options.static_energy,
    )
    return only_layer(WorkloadStage()(network), layer)
