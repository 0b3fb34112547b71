"""``nestmap evaluate``: what a given mapping costs, of one layer or of a whole network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from nestmap.costmodel import evaluate
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
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import output_width, remark, show, show_prose
from nestmap.pipeline.cli.workload_argument import GivenWorkload
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


@final
@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """The arguments of the command.

    Either ``mapping_file``, or ``layer`` and ``order``; without ``cuts`` the memories are filled as
    LOMA does.
    """

    workload: GivenWorkload
    layer: str | None
    accelerator: str
    mapping: str | None
    static_energy: bool
    mapping_file: str | None
    order: str | None
    cuts: tuple[str, ...]
    json: Path | None


def run_evaluate(request: EvaluateRequest) -> None:
    """Costs the mapping, writes the JSON file, prints the breakdown or the table of layers.

    Raises:
        NestmapError: where something given is not right, or does not fit.
    """
    used = (request.workload.name, request.accelerator, request.mapping, request.mapping_file)
    check_target("--json", request.json, used)
    if request.mapping_file is not None:
        _run_replay(request, request.mapping_file)
        return
    if request.order is None:
        found = "neither --order nor --mapping-file"
        raise InputError("nestmap evaluate", found, "one of them: it says how to run the loops")
    if request.layer is None:
        raise InputError("nestmap evaluate", "--order without --layer", "the layer it is for")
    problem = _problem(request, request.mapping, request.layer)
    spatial = SpatialMappingConversionStage()(problem)
    mapping = temporal_mapping(spatial, request.order, request.cuts)
    cme = evaluate(spatial, mapping)
    result = LayerResult(cme=cme, statistics=SearchStatistics(evaluations=1))
    _write(request, NetworkEvaluation(layers=(result,)))
    _print_layer(request, spatial, cme)


def _run_replay(request: EvaluateRequest, file: str) -> None:
    given = {"--order": request.order, "--cut": request.cuts, "--mapping": request.mapping}
    for option, value in given.items():
        if value:
            found = f"{option} beside --mapping-file"
            raise InputError("nestmap evaluate", found, "one of them: the file has all of it")
    workload = request.workload.read()
    accelerator = read_accelerator(request.accelerator, static_energy=request.static_energy)
    evaluation = replay(workload, accelerator, file, layer=request.layer)
    _write(request, evaluation)
    if request.layer is not None:
        (result,) = evaluation.layers
        spatial = fixed_spatial()(_problem(request, file, request.layer))
        _print_layer(request, spatial, result.cme)
        return
    show(layer_table(workload.layers, evaluation, output_width()))
    skipped = skipped_note(workload.layers, evaluation)
    for note in (totals(evaluation), machine_note(evaluation), vector_note(evaluation), skipped):
        show_prose(note)
    _tell_place(request)


def _write(request: EvaluateRequest, evaluation: NetworkEvaluation) -> None:
    """Before anything is printed: the reader of a pipe may leave."""
    if request.json is not None:
        write_json(request.json, full_json(evaluation))


def _print_layer(
    request: EvaluateRequest, spatial: SpatialProblem, cme: CostModelEvaluation
) -> None:
    show(breakdown(spatial, cme))
    _tell_place(request)


def _tell_place(request: EvaluateRequest) -> None:
    if request.json is not None:
        remark(f"Written to {request.json}.")


def _problem(request: EvaluateRequest, mapping: str | None, layer: str) -> MappingProblem:
    """The layer with the machine and what the mapping file says of it."""
    network = read_network(
        request.workload.read(),
        request.accelerator,
        mapping,
        static_energy=request.static_energy,
    )
    return only_layer(WorkloadStage()(network), layer)
