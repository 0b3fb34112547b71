"""``nestmap split``: a network as computation nodes, as tables and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from nestmap.model import InputError
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.problem import StreamProblem
from nestmap.pipeline.analysis.schedule.split_summary import (
    Allowed,
    TooLarge,
    largest_tensors,
    layer_splits,
    too_large,
)
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import output_width, remark, show, show_prose
from nestmap.pipeline.cli.split_arguments import (
    GivenSplit,
    chosen_split,
    named_as_options,
    read_problem,
)
from nestmap.pipeline.cli.workload_argument import GivenWorkload
from nestmap.pipeline.render.svg.cn_workload import MOST_EDGES, MOST_NODES, cn_graph_svg
from nestmap.pipeline.render.text.plain_table import Line, printable
from nestmap.pipeline.render.text.split import (
    DEFINITIONS,
    passing_note,
    split_json,
    split_table,
    split_totals,
    tensor_table,
    too_large_table,
)
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage
from nestmap.pipeline.util.atomic_files import write_text
from nestmap.pipeline.util.json import write_json

MOST_TENSORS: Final = 5
MOST_TOO_LARGE: Final = 12


@final
@dataclass(frozen=True, slots=True)
class SplitRequest:
    """The arguments of the command."""

    workload: GivenWorkload
    cores: str
    mapping: str | None
    how: GivenSplit
    graph: Path | None
    json: Path | None


def run_split(request: SplitRequest) -> None:
    """Splits the network, writes the files, prints the report.

    Raises:
        NestmapError: where something given is not right.
    """
    check_target("--json", request.json, (request.workload.name, request.cores))
    check_target("--graph", request.graph, (request.workload.name, request.cores, request.json))
    problem = read_problem(request.workload, request.cores, request.mapping)
    with named_as_options():
        options = chosen_split(request.how, problem)
        split = GenerateCNWorkloadHybridStage(options=options)(problem).nodes
    unfit = tuple(too_large(split, Allowed(problem)))
    _write_files(request, split, unfit)
    _print_report(problem, split, unfit)
    for target in (request.json, request.graph):
        if target is not None:
            remark(f"Written to {target}.")


def _write_files(request: SplitRequest, split: CnWorkload, unfit: tuple[TooLarge, ...]) -> None:
    """Before anything is printed: the reader of a pipe may leave."""
    if request.json is not None:
        write_json(request.json, split_json(split, layer_splits(split), unfit))
    if request.graph is not None:
        if len(split) > MOST_NODES or len(split.edges) > MOST_EDGES:
            raise InputError(
                f"--graph {request.graph}",
                f"{len(split):,} computation nodes and {len(split.edges):,} edges",
                f"at most {MOST_NODES:,} nodes and {MOST_EDGES:,} edges: a smaller network, or "
                "fewer tiles",
            )
        write_text(request.graph, cn_graph_svg(split))


def _print_report(problem: StreamProblem, split: CnWorkload, unfit: tuple[TooLarge, ...]) -> None:
    show_prose(f"{printable(split.name)}: {len(split):,} computation nodes")
    show([Line(), *split_table(layer_splits(split), split, output_width()), Line()])
    show_prose(split_totals(split))
    show_prose(DEFINITIONS)
    passing = passing_note(problem.workload, split)
    if passing:
        show_prose(passing)
    show([Line(), *tensor_table(largest_tensors(split, MOST_TENSORS)), Line()])
    if unfit:
        show(too_large_table(unfit, MOST_TOO_LARGE))
    else:
        show_prose("All that a node needs fits the outermost memories of all cores it may run on.")
