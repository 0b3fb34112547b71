"""``nestmap explore``: the best mapping of every layer, as a table."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final
from uuid import UUID

import typer

from nestmap.model import (
    InputError,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    Recording,
    RecordMode,
    Workload,
)
from nestmap.pipeline.analysis.network.reduced_unrollings import reduced_unrollings
from nestmap.pipeline.cli.error_handling import exit_without_mapping
from nestmap.pipeline.cli.options.common import ResultFileOptions
from nestmap.pipeline.cli.options.explore import ExploreOptions, RecordingOptions, ResumeOptions
from nestmap.pipeline.cli.printing import check_target, print_note, show_prose, show_table
from nestmap.pipeline.cli.progress import ExplorationBar
from nestmap.pipeline.cli.store_target import (
    StoreTarget,
    chosen_label,
    chosen_store,
    print_nothing_kept,
    print_resume_hint,
)
from nestmap.pipeline.cli.workload_argument import read_given_workload
from nestmap.pipeline.explore.api import (
    Exploration,
    FrontExploration,
    check_front_plan,
    explore_front,
    explore_network,
    read_network,
)
from nestmap.pipeline.explore.fastest import Contrast, contrast_with_fastest
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.recording import known_tries, read_plan
from nestmap.pipeline.explore.resume import resume
from nestmap.pipeline.explore.run import Job
from nestmap.pipeline.explore.size import ExplorationSize, KnownTries, exploration_size
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.runs import short_id
from nestmap.pipeline.frontend.bundled import default_mapping_for
from nestmap.pipeline.render.json.results import front_json, full_json
from nestmap.pipeline.render.tables.mapping import front_table
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.gap import contrast_note, front_notes, gap_note
from nestmap.pipeline.render.text.network import bundled_mapping_note, network_notes, totals
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.pipeline.render.yaml.mapping import write_mapping
from nestmap.pipeline.stages.mapping.layers import skipped_note
from nestmap.pipeline.util.atomic_files import Json, write_json
from nestmap.store import Store

_COUNTING: Final = " (--count-vector counts them)"


@final
@dataclass(frozen=True, slots=True)
class ResultFiles:
    """The files that results are written to, in addition to the store."""

    options: ResultFileOptions

    def check(self, taken: tuple[str | Path | None, ...]) -> None:
        """Checks that the files can be written, and that none of them is used already.

        Raises:
            InputError: where a file cannot be written, or is used already.
        """
        json = self.options.json
        check_target("--json", json, taken)
        check_target("--save-mapping", self.options.save_mapping, (*taken, json))

    def write(self, total: NetworkEvaluation, results: Json) -> None:
        """Writes the files; call it before printing, because the output pipe may be closed."""
        if self.options.json is not None:
            write_json(self.options.json, results)
        if self.options.save_mapping is not None:
            write_mapping(self.options.save_mapping, total)

    def tell(self) -> None:
        """Prints the paths of the files."""
        for target in (self.options.json, self.options.save_mapping):
            if target is not None:
                print_note(f"Written to {target}.")


def run_explore(options: ExploreOptions) -> None:
    """Explores, writes the files, prints the table.

    Raises:
        NestmapError: where an option is invalid, or no mapping fits.
    """
    plan = SearchPlan.of(options.search)
    if plan.padding is not None and options.files.save_mapping is not None:
        hint = "a mapping file has no sizes of padded loops; --json has them"
        raise InputError.conflict("--save-mapping", "--pad", hint)
    if options.pareto:
        check_front_plan(plan)
    where = options.recording
    place = chosen_store(where.store, where.no_store)
    label = chosen_label(where.run_name, where.tags, place)
    path = None if place is None else place.path
    files = ResultFiles(options.files)
    files.check((options.workload.name, options.accelerator, options.mapping, path))
    whole = read_given_workload(options.workload)
    network = plan.prepare(
        read_network(
            whole.only(*options.layer) if options.layer else whole,
            options.accelerator,
            options.mapping,
            store=path,
            static_energy=options.static_energy,
        )
    )
    found, contrast = _explored(options, Job(network, plan, label=label), place)
    run = None if place is None else found.run
    _report(found, network, plan.objective, files, run)
    if contrast is not None:
        show_prose(contrast_note(*contrast))
    if options.mapping is None and default_mapping_for(options.accelerator) is not None:
        show_prose(bundled_mapping_note(network))
    _print_place(found.run, place)
    exit_without_mapping(found.infeasible)


def resume_exploration(
    number: UUID, opened: Store, place: StoreTarget, options: ResumeOptions
) -> None:
    """Resumes a run, writes the files, prints the table.

    Raises:
        NestmapError: where the run cannot be resumed, or no mapping fits.
    """
    info = opened.info(number)
    size = exploration_size(info.network, read_plan(SearchPlan, number, info.options))
    with print_resume_hint(opened, place), ExplorationBar(size) as bar:
        found = resume(number, opened, workers=options.workers, progress=bar)
    _report(found, info.network, info.objective, ResultFiles(options.files), number)
    _print_place(number, place)
    exit_without_mapping(found.infeasible)


_Found = tuple[Exploration | FrontExploration, Contrast | None]


def _explored(options: ExploreOptions, job: Job, place: StoreTarget | None) -> _Found:
    if place is None:
        size = _agreed_size(options, job, None, None)
        with print_nothing_kept("without --no-store"):
            return _searched(options, job, size, None)
    recording = _recording(options.recording)
    if place.has_runs:
        with place.open() as store, print_resume_hint(store, place):
            known = known_tries(store, job.plan, recording)
            size = _agreed_size(options, job, recording, known)
            return _searched(options, job, size, store)
    size = _agreed_size(options, job, recording, None)  # before the store is created
    with place.open() as store, print_resume_hint(store, place):
        return _searched(options, job, size, store)


def _agreed_size(
    options: ExploreOptions, job: Job, recording: Recording | None, known: KnownTries | None
) -> ExplorationSize:
    """The size of an exploration, to which the user agrees if it is large.

    Tensors that may stay on chip make it larger than with all of them outside.
    """
    least = exploration_size(job.network, job.plan.apart, known)
    check_size(least, recording, agreed=options.yes, more=job.plan.joins_layers)
    return exploration_size(job.network, job.plan, known) if job.plan.joins_layers else least


def _searched(
    options: ExploreOptions, job: Job, size: ExplorationSize, store: Store | None
) -> _Found:
    """What is found, and the contrast with the fastest mapping, unless everything was reused.

    To find the fastest mapping is a search, and what is reused needs none.
    """
    recording = _recording(options.recording)
    explored = explore_front if options.pareto else explore_network
    with ExplorationBar(size) as bar:
        found = explored(
            job.network, job.plan, store=store, label=job.label, recording=recording, progress=bar
        )
        if isinstance(found, FrontExploration) or not bar.has_evaluated:
            return found, None
        return found, contrast_with_fastest(job.network, job.plan, found.total)


def _recording(options: RecordingOptions) -> Recording:
    mode = RecordMode(options.record)
    limit = None if options.record_limit == "none" else options.record_limit
    return Recording(record=mode, limit=limit, fresh=options.fresh)


def _report(
    found: Exploration | FrontExploration,
    network: NetworkProblem,
    objective: Objective,
    files: ResultFiles,
    run: UUID | None,
) -> None:
    """Writes the files, prints the results; ``run`` is the run in the store, if there is one."""
    total = found.total if isinstance(found, Exploration) else found.front.best(objective)
    reduced = reduced_unrollings(network, total)
    if isinstance(found, Exploration):
        files.write(total, full_json(total, run, reduced))
        _print_results(found, network.workload)
    else:
        files.write(total, front_json(found.front, run, reduced))
        _print_front(found)
    skipped = skipped_note(network.workload.layers, total)
    for note in (*network_notes(total, network, _COUNTING), skipped):
        show_prose(note)
    files.tell()


def _print_front(found: FrontExploration) -> None:
    show_prose(
        f"{printable(found.workload)} on {found.accelerator}: the Pareto front of each "
        "layer in energy and latency"
    )
    show_table(front_table(found.front.layers))
    for note in front_notes(found.front):
        show_prose(note)


def _print_results(exploration: Exploration, workload: Workload) -> None:
    total = exploration.total
    lowest = f"the lowest {exploration.objective.long_name}"
    what = f"the mapping with {lowest} for each layer"
    if total.limited is not None:
        what = f"the mappings that together have {lowest} with at most {total.limited.limit}"
    show_prose(f"{printable(exploration.workload)} on {exploration.accelerator}: {what}")
    show_table(layer_table(total, workload.layers))
    for note in (totals(total, workload.uncounted_operators), gap_note(total)):
        show_prose(note)


def _print_place(run: UUID, place: StoreTarget | None) -> None:
    """Prints where the results are recorded, and how to query them."""
    if place is None:
        return
    print_note(f"Recorded in {place.path} as run {run}. Query it, for example:")
    print_note(f"  nestmap query energy_by_memory --run last{place.option}")
    print_note(f"  {_question(run)}{place.option}")


def _question(run: UUID) -> str:
    """A command that compares the best and the worst mapping of each layer."""
    sql = (
        "SELECT layer, count(*) AS mappings, min(latency) AS best, max(latency) AS worst "
        f"FROM evaluations WHERE run = run_id('{short_id(run)}') "
        "GROUP BY layer ORDER BY best DESC LIMIT 5"
    )
    return f'nestmap query "{sql}"'


# --- asks before an exploration that takes very long or records very much ---

MOST_MAPPINGS: Final = 10**8
"""Mappings that are evaluated without asking: some minutes."""

LARGEST_RECORD: Final = 10**9
"""Bytes that are recorded without asking."""


def check_size(
    size: ExplorationSize, recording: Recording | None, *, agreed: bool, more: bool = False
) -> None:
    """Asks the user to agree to a large exploration, unless they have ``agreed`` already.

    ``recording`` is ``None`` if nothing is recorded; ``more``: it may become larger than ``size``.

    Raises:
        InputError: where it is large and nobody is there to ask.
        KeyboardInterrupt: where the user does not agree.
    """
    mappings = size.mappings or 0
    written = 0 if recording is None else size.record_bytes(recording)
    if mappings <= MOST_MAPPINGS and written <= LARGEST_RECORD:
        return
    amount = f"{'at least' if more else 'up to'} {count(mappings)} mappings to evaluate"
    if written:
        amount += f" and {written / 1e9:,.1f} GB to record"
    if not agreed and not sys.stdin.isatty():
        raise InputError(
            "exploration",
            amount,
            f"--yes to start it, or at most {count(MOST_MAPPINGS)} mappings and "
            f"{LARGEST_RECORD / 1e9:g} GB (--lpf-limit, --spatial-mappings, --record-limit)",
        )
    layers = f"{count(size.searches or 0)} spatial mappings of {len(size.layers)} different layers"
    print_note(f"This exploration has {amount}: {layers}.")
    if not agreed:
        _ask()


def _ask() -> None:
    try:
        agreed = typer.confirm("Start it?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of the input
        agreed = False
    if not agreed:
        raise KeyboardInterrupt
