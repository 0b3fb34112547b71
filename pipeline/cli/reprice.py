"""``nestmap reprice``: the cost of the mappings of an earlier run under other energies."""

from dataclasses import dataclass
from typing import Final, final

from nestmap.model import NetworkEvaluation, NetworkProblem
from nestmap.pipeline.cli.options.explore import RepriceOptions
from nestmap.pipeline.cli.printing import check_target, print_note, show_prose, show_table
from nestmap.pipeline.explore.reprice import Standing, compare_standing, reprice_results
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.render.json.results import full_json, summary_json
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.network import machine_note, totals
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.pipeline.render.text.results import vector_note
from nestmap.pipeline.util.atomic_files import Json, write_json
from nestmap.store import RunRecord, Store

_VERDICTS: Final = {
    Standing.BEST: "These mappings are still the best of all candidates of the search: the new "
    "energies do not change their order.",
    Standing.BEST_BUT_FOR_TIES: "No candidate of the search has lower latency, which does not "
    "depend on energies. A mapping of equal latency may take less energy now; finding it needs a "
    "new search (nestmap explore).",
    Standing.UNKNOWN: "Other mappings may be better under these energies; finding them needs a new "
    "search (nestmap explore).",
}


@final
@dataclass(frozen=True, slots=True)
class _Found:
    """The results of a run, before and after."""

    run: RunRecord
    network: NetworkProblem
    before: NetworkEvaluation
    after: NetworkEvaluation
    standing: Standing


def run_reprice(options: RepriceOptions) -> None:
    """Computes the energies, writes the JSON file, prints the table.

    Raises:
        NestmapError: where an option is invalid, or a new search is needed.
    """
    check_target("--json", options.json, (options.accelerator, options.store))
    found = _found(options)
    if options.json is not None:  # before anything is printed: the output pipe may be closed
        write_json(options.json, _json(found))
    _print_results(found)
    if options.json is not None:
        print_note(f"Written to {options.json}.")


def _found(options: RepriceOptions) -> _Found:
    accelerator = read_accelerator(options.accelerator, static_energy=options.static_energy)
    with Store.open_read_only(options.store) as store:
        run = store.run(store.find_run(options.run))
        before, network = store.best(run.id), store.problem(run.id)
    accelerator = accelerator.counted(network.accelerator.counting)
    return _Found(
        run=run,
        network=network,
        before=before,
        after=reprice_results(before, network.accelerator, accelerator),
        standing=compare_standing(run.objective, network.accelerator, accelerator),
    )


def _print_results(found: _Found) -> None:
    network, after = found.network, found.after
    show_prose(
        f"{printable(network.workload.name)} on {after.layers[0].cme.accelerator}: the mappings "
        f"with the lowest {found.run.objective} that run {found.run.id} found for "
        f"{network.accelerator.name}"
    )
    show_table(layer_table(after, network.workload.layers))
    show_prose(f"Before. {totals(found.before)}")
    show_prose(f"Now. {totals(after)}")
    for note in (machine_note(after), vector_note(after), _VERDICTS[found.standing]):
        show_prose(note)


def _json(found: _Found) -> Json:
    before, after = summary_json(found.before, found.run.id), full_json(found.after, found.run.id)
    return {
        "run": str(found.run.id),
        "accelerator": found.after.layers[0].cme.accelerator,
        "objective": found.run.objective.value,
        "standing": found.standing.value,
        "before": before,
        "after": after,
    }
