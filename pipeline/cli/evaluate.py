"""``nestmap evaluate``: what one given mapping of one layer costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from nestmap.costmodel import evaluate
from nestmap.model import (
    InputError,
    LayerResult,
    MappingProblem,
    NetworkEvaluation,
    NetworkProblem,
    SearchStatistics,
)
from nestmap.pipeline.checks import check_constraints
from nestmap.pipeline.cli.fixed import check_fit, temporal_mapping
from nestmap.pipeline.cli.output import remark, show
from nestmap.pipeline.cli.targets import check_json
from nestmap.pipeline.inputs import read_accelerator, read_mapping, read_workload
from nestmap.pipeline.parsers.node import suggestion
from nestmap.pipeline.report.breakdown import breakdown
from nestmap.pipeline.report.json import full_json, write_json
from nestmap.pipeline.stages import SpatialMappingConversionStage, WorkloadStage


@final
@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """The arguments of the command; without ``cuts`` the memories are filled as LOMA does."""

    workload: str
    layer: str
    accelerator: str
    mapping: str | None
    order: str
    cuts: tuple[str, ...]
    json: Path | None


def run_evaluate(request: EvaluateRequest) -> None:
    """Costs the mapping, writes the JSON file, prints the breakdown.

    Raises:
        NestmapError: where something given is not right, or does not fit.
    """
    check_json(request.json, (request.workload, request.accelerator, request.mapping))
    spatial = SpatialMappingConversionStage()(_problem(request))
    cme = evaluate(spatial, temporal_mapping(spatial, request.order, request.cuts))
    if request.cuts:
        check_fit(spatial, cme)
    if request.json is not None:
        result = LayerResult(cme=cme, statistics=SearchStatistics(evaluations=1))
        write_json(request.json, full_json(NetworkEvaluation(layers=(result,))))
    show(breakdown(spatial, cme))
    if request.json is not None:
        remark(f"Written to {request.json}.")


def _problem(request: EvaluateRequest) -> MappingProblem:
    """The layer with the machine and what the mapping fixes."""
    network = NetworkProblem(
        workload=read_workload(request.workload),
        accelerator=read_accelerator(request.accelerator),
        constraints=read_mapping(request.mapping, for_accelerator=request.accelerator),
    )
    check_constraints(network, request.mapping or "mapping")
    problems = {problem.layer.name: problem for problem in WorkloadStage()(network)}
    if request.layer not in problems:
        raise InputError("--layer", repr(request.layer), suggestion(request.layer, problems))
    return problems[request.layer]
