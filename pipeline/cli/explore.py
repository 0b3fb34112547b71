"""``nestmap explore``: the best mapping of every layer, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final, final
from uuid import UUID

from nestmap.model import NetworkEvaluation, NetworkProblem, Objective, Workload
from nestmap.pipeline.api import Exploration, explore_front, explore_network, read_network
from nestmap.pipeline.cli.output import output_width, remark, show, show_prose
from nestmap.pipeline.cli.progress import ExplorationBar
from nestmap.pipeline.cli.targets import check_target
from nestmap.pipeline.cli.workload import GivenWorkload
from nestmap.pipeline.plan import SearchPlan
from nestmap.pipeline.report.columns import Line, printable
from nestmap.pipeline.report.front import front_table
from nestmap.pipeline.report.json import Json, front_json, full_json, write_json
from nestmap.pipeline.report.mapping_yaml import write_mapping
from nestmap.pipeline.report.table import (
    layer_table,
    pruned_note,
    skipped_orders,
    totals,
)
from nestmap.pipeline.report.vector import vector_note
from nestmap.pipeline.report.workload import operator_notes
from nestmap.store import DEFAULT_PATH

_GOALS: Final = {
    Objective.LATENCY: "latency",
    Objective.ENERGY: "energy",
    Objective.EDP: "energy x latency",
}
_COUNTING: Final = " (--count-vector counts them)"


@final
@dataclass(frozen=True, slots=True)
class ExploreRequest:
    """The arguments of the command; without a ``store`` nothing is kept."""

    workload: GivenWorkload
    accelerator: str
    mapping: str | None
    plan: SearchPlan
    pareto: bool
    store: Path | None
    json: Path | None
    save_mapping: Path | None


def run_explore(request: ExploreRequest) -> None:
    """Explores, writes the files, prints the table.

    Raises:
        NestmapError: where something given is not right, or nothing fits.
    """
    taken = (request.workload.name, request.accelerator, request.mapping, request.store)
    check_target("--json", request.json, taken)
    check_target("--save-mapping", request.save_mapping, (*taken, request.json))
    network = read_network(request.workload.read(), request.accelerator, request.mapping)
    if request.pareto:
        _run_front(request, network)
    else:
        _run_best(request, network)


def _run_best(request: ExploreRequest, network: NetworkProblem) -> None:
    with ExplorationBar() as bar:
        exploration = explore_network(network, request.plan, store=request.store, progress=bar)
    _write_files(request, exploration.total, full_json(exploration.total, exploration.run))
    _print_results(exploration, network.workload)
    _print_places(exploration.run, request)


def _run_front(request: ExploreRequest, network: NetworkProblem) -> None:
    with ExplorationBar() as bar:
        found = explore_front(network, request.plan, store=request.store, progress=bar)
    best = found.front.best(request.plan.objective)
    _write_files(request, best, front_json(found.front, found.run))
    show_prose(
        f"{printable(found.workload)} on {found.accelerator}: of each layer the mappings than "
        "which none has less energy without more latency"
    )
    show([Line(), *front_table(found.front), Line()])
    for note in (vector_note(best, _COUNTING), *skipped_orders(best)):
        show_prose(note)
    _print_places(found.run, request)


def _write_files(request: ExploreRequest, total: NetworkEvaluation, results: Json) -> None:
    """Before anything is printed: the reader of a pipe may leave."""
    if request.json is not None:
        write_json(request.json, results)
    if request.save_mapping is not None:
        write_mapping(request.save_mapping, total)


def _print_results(exploration: Exploration, workload: Workload) -> None:
    show_prose(
        f"{printable(exploration.workload)} on {exploration.accelerator}: of each layer "
        f"the mapping with the least {_GOALS[exploration.objective]}"
    )
    show([Line(), *layer_table(workload.layers, exploration.total, output_width()), Line()])
    notes = [
        vector_note(exploration.total, _COUNTING),
        *operator_notes(workload),
        *skipped_orders(exploration.total),
    ]
    for note in (totals(exploration.total), pruned_note(exploration.total), *notes):
        show_prose(note)


def _print_places(run: UUID, request: ExploreRequest) -> None:
    """Says where the results are kept, and how to ask for them."""
    for target in (request.json, request.save_mapping):
        if target is not None:
            remark(f"Written to {target}.")
    if request.store is not None:
        remark(f"Recorded in {request.store} as run {run}. Ask it, for example:")
        remark(f"  {_question(run, request.store)}")


def _question(run: UUID, store: Path) -> str:
    """A command that shows how much a good mapping matters."""
    sql = (
        "SELECT layer, count(*) AS mappings, min(latency) AS best, max(latency) AS worst "
        f"FROM evaluations WHERE run = '{run}' "
        "GROUP BY layer ORDER BY best DESC LIMIT 5"
    )
    place = "" if store == DEFAULT_PATH else f" --store {quote(str(store))}"
    return f'nestmap query "{sql}"{place}'
