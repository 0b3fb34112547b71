"""``nestmap explore``: the best mapping of every layer, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final, Literal, final

from nestmap.model import Objective, Workload
from nestmap.pipeline.api import Exploration
from nestmap.pipeline.api import explore as explore_workload
from nestmap.pipeline.cli.output import output_width, remark, show, show_prose
from nestmap.pipeline.cli.progress import ExplorationBar
from nestmap.pipeline.cli.targets import check_json
from nestmap.pipeline.inputs import read_workload
from nestmap.pipeline.report.columns import Line, printable
from nestmap.pipeline.report.json import full_json, write_json
from nestmap.pipeline.report.table import layer_table, no_cost_note, skipped_orders, totals
from nestmap.store import DEFAULT_PATH

_GOALS: Final = {
    Objective.LATENCY: "latency",
    Objective.ENERGY: "energy",
    Objective.EDP: "energy x latency",
}


@final
@dataclass(frozen=True, slots=True)
class ExploreRequest:
    """The arguments of the command; without a ``store`` nothing is kept."""

    workload: str
    accelerator: str
    mapping: str | None
    objective: Literal["latency", "energy", "edp"]
    lpf_limit: int
    mapping_type: Literal["uneven", "even"]
    store: Path | None
    json: Path | None


def run_explore(request: ExploreRequest) -> None:
    """Explores, writes the JSON file, prints the table.

    Raises:
        NestmapError: where something given is not right, or nothing fits.
    """
    taken = (request.workload, request.accelerator, request.mapping, request.store)
    check_json(request.json, taken)
    workload = read_workload(request.workload)
    exploration = _explored(request, workload)
    if request.json is not None:  # before anything is printed: the reader of a pipe may leave
        write_json(request.json, full_json(exploration.total, exploration.run))
    _print_results(exploration, workload)
    _print_places(exploration, request)


def _explored(request: ExploreRequest, workload: Workload) -> Exploration:
    with ExplorationBar() as bar:
        return explore_workload(
            workload,
            request.accelerator,
            request.mapping,
            objective=request.objective,
            lpf_limit=request.lpf_limit,
            mapping_type=request.mapping_type,
            store=request.store,
            progress=bar,
        )


def _print_results(exploration: Exploration, workload: Workload) -> None:
    show_prose(
        f"{printable(exploration.workload)} on {exploration.accelerator}: of each layer "
        f"the mapping with the least {_GOALS[exploration.objective]}"
    )
    show([Line(), *layer_table(workload.layers, exploration.total, output_width()), Line()])
    notes = [no_cost_note(workload.no_cost_operators), *skipped_orders(exploration.total)]
    for note in (totals(exploration.total), *notes):
        show_prose(note)


def _print_places(exploration: Exploration, request: ExploreRequest) -> None:
    """Says where the results are kept, and how to ask for them."""
    if request.json is not None:
        remark(f"Written to {request.json}.")
    if request.store is not None:
        remark(f"Recorded in {request.store} as run {exploration.run}. Ask it, for example:")
        remark(f"  {_question(exploration, request.store)}")


def _question(exploration: Exploration, store: Path) -> str:
    """A command that shows how much a good mapping matters."""
    sql = (
        "SELECT layer, count(*) AS mappings, min(latency) AS best, max(latency) AS worst "
        f"FROM evaluations WHERE run = '{exploration.run}' "
        "GROUP BY layer ORDER BY best DESC LIMIT 5"
    )
    place = "" if store == DEFAULT_PATH else f" --store {quote(str(store))}"
    return f'nestmap query "{sql}"{place}'
