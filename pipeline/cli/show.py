"""``nestmap show``: what a workload or an accelerator consists of, as tables and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from nestmap.model import Workload
from nestmap.pipeline.analysis.network.workload_summary import layer_groups, single_layers
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import output_width, remark, show, show_prose
from nestmap.pipeline.cli.workload_argument import GivenWorkload
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.frontend.read import read_accelerator
from nestmap.pipeline.render.svg.workload import graph_svg
from nestmap.pipeline.render.tables.results import MEMORY_COSTS
from nestmap.pipeline.render.text.accelerator import array_facts, memory_table, part_table
from nestmap.pipeline.render.text.plain_table import Line, printable
from nestmap.pipeline.render.text.workload import (
    DEFINITIONS,
    group_table,
    operator_notes,
    vector_table,
    workload_json,
    workload_totals,
)
from nestmap.pipeline.util.atomic_files import write_text
from nestmap.pipeline.util.json import write_json


@final
@dataclass(frozen=True, slots=True)
class ShowRequest:
    """The arguments of the command; with ``every_layer`` identical layers have a row each."""

    workload: GivenWorkload
    graph: Path | None
    json: Path | None
    every_layer: bool


def run_show_accelerator(given: str) -> None:
    """Reads the accelerator, prints its memories with what they cost.

    Raises:
        NestmapError: where it is not right.
    """
    accelerator = read_accelerator(given)
    show_prose(f"{printable(accelerator.name)}: {array_text(accelerator)}")
    show_prose(array_facts(accelerator))
    show([*part_table(accelerator), Line(), *memory_table(accelerator), Line()])
    show_prose(MEMORY_COSTS)


def run_show(request: ShowRequest) -> None:
    """Reads the workload, writes the files, prints the report.

    Raises:
        NestmapError: where something given is not right.
    """
    check_target("--json", request.json, (request.workload.name,))
    check_target("--graph", request.graph, (request.workload.name, request.json))
    workload = request.workload.read()
    _write_files(request, workload)
    _print_report(request, workload)
    for target in (request.json, request.graph):
        if target is not None:
            remark(f"Written to {target}.")


def _write_files(request: ShowRequest, workload: Workload) -> None:
    """Before anything is printed: the reader of a pipe may leave."""
    if request.json is not None:
        rows = single_layers if request.every_layer else layer_groups
        write_json(request.json, workload_json(workload, rows(workload.layers)))
    if request.graph is not None:
        write_text(request.graph, graph_svg(workload))


def _print_report(request: ShowRequest, workload: Workload) -> None:
    groups = layer_groups(workload.layers)
    rows = single_layers(workload.layers) if request.every_layer else groups
    nodes = len(workload.nodes)
    show_prose(f"{printable(workload.name)}: {nodes:,} operator{'' if nodes == 1 else 's'}")
    show([Line(), *group_table(rows, output_width()), Line()])
    vectors = vector_table(workload)
    show([*vectors, Line()] if vectors else [])
    for text in (workload_totals(workload, groups), *operator_notes(workload)):
        show_prose(text)
    if groups:
        show_prose(DEFINITIONS)
