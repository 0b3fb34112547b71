"""``nestmap split``: a network as computation nodes, as tables and as a picture."""

from typing import Final

from nestmap.model import Counting, InputError
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.problem import StreamProblem
from nestmap.pipeline.analysis.schedule.split_summary import (
    Allowed,
    TooLarge,
    largest_tensors,
    layer_splits,
    too_large,
)
from nestmap.pipeline.cli.options.multicore import SplitCommandOptions
from nestmap.pipeline.cli.printing import check_target, print_note, show, show_prose, show_table
from nestmap.pipeline.cli.split_arguments import chosen_split, read_problem, rename_options
from nestmap.pipeline.render.json.schedule import split_json
from nestmap.pipeline.render.svg.cn_workload import MOST_EDGES, MOST_NODES, cn_graph_svg
from nestmap.pipeline.render.tables.split import split_table, tensor_table, too_large_table
from nestmap.pipeline.render.text.multicore import DEFINITIONS, passing_note, split_totals
from nestmap.pipeline.render.text.plain_table import printable, table_lines
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage
from nestmap.pipeline.util.atomic_files import write_json, write_text

MOST_TENSORS: Final = 5
MOST_TOO_LARGE: Final = 12


def run_split(options: SplitCommandOptions) -> None:
    """Splits the network, writes the files, prints the report.

    Raises:
        NestmapError: where an option is invalid.
    """
    check_target("--json", options.json, (options.workload.name, options.cores))
    check_target("--graph", options.graph, (options.workload.name, options.cores, options.json))
    problem = read_problem(options.workload, options.cores, options.mapping)
    with rename_options():
        chosen = chosen_split(
            options.split, Counting.of(options.reference) or Counting.EXACT, problem
        )
        split = GenerateCNWorkloadHybridStage(options=chosen)(problem).nodes
    unfit = tuple(too_large(split, Allowed(problem)))
    _write_files(options, split, unfit)
    _print_report(problem, split, unfit)
    for target in (options.json, options.graph):
        if target is not None:
            print_note(f"Written to {target}.")


def _write_files(
    options: SplitCommandOptions, split: CnWorkload, unfit: tuple[TooLarge, ...]
) -> None:
    """Writes the files; call it before printing, because the output pipe may be closed."""
    if options.json is not None:
        write_json(options.json, split_json(split, layer_splits(split), unfit))
    if options.graph is not None:
        if len(split) > MOST_NODES or len(split.edges) > MOST_EDGES:
            raise InputError(
                f"--graph {options.graph}",
                f"{len(split):,} computation nodes and {len(split.edges):,} edges",
                f"at most {MOST_NODES:,} nodes and {MOST_EDGES:,} edges: a smaller network, or "
                "fewer tiles",
            )
        write_text(options.graph, cn_graph_svg(split))


def _print_report(problem: StreamProblem, split: CnWorkload, unfit: tuple[TooLarge, ...]) -> None:
    show_prose(f"{printable(split.name)}: {len(split):,} computation nodes")
    show_table(split_table(layer_splits(split), split))
    show_prose(split_totals(split))
    show_prose(DEFINITIONS)
    passing = passing_note(problem.workload, split)
    if passing:
        show_prose(passing)
    show_table(tensor_table(largest_tensors(split, MOST_TENSORS)))
    if unfit:
        show(table_lines(too_large_table(unfit), most=MOST_TOO_LARGE))
    else:
        show_prose("Every node fits the outermost memories of all cores on which it may run.")
