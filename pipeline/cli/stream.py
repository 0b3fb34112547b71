"""``nestmap stream``: schedules a network on several cores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, final
from uuid import UUID

from nestmap.model import Counting, InputError
from nestmap.model.base import copy_with
from nestmap.model.multicore.allocation import Fitness, Generation
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.model.multicore.split_options import SplitMode, SplitOptions
from nestmap.pipeline.cli.options.multicore import StreamCommandOptions
from nestmap.pipeline.cli.printing import check_target, print_note, show, show_prose, show_table
from nestmap.pipeline.cli.progress_line import ProgressBar
from nestmap.pipeline.cli.split_arguments import chosen_split, read_problem, rename_options
from nestmap.pipeline.cli.store_target import (
    StoreTarget,
    chosen_label,
    chosen_store,
    print_nothing_kept,
    print_resume_hint,
)
from nestmap.pipeline.format.numbers import count, cycles, energy
from nestmap.pipeline.multicore.api import StreamResult, resume_stream, stream_problem
from nestmap.pipeline.multicore.pipeline import split_network
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.multicore.result_json import stream_json
from nestmap.pipeline.multicore.run import StreamJob
from nestmap.pipeline.render.json.schedule import schedule_json
from nestmap.pipeline.render.perfetto.trace import perfetto_trace
from nestmap.pipeline.render.tables.schedule import (
    Compared,
    allocation_table,
    channel_table,
    comparison_table,
    core_table,
    energy_table,
    memory_table,
)
from nestmap.pipeline.render.text.multicore import (
    bound_note,
    comparison_note,
    passing_note,
    problem_note,
)
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines
from nestmap.pipeline.util.atomic_files import write_json, write_text
from nestmap.search.parallel import available_workers
from nestmap.store import Store

if TYPE_CHECKING:  # takes long to import
    from rich.console import Console


MOST_FRONT: Final = 12
MOST_CHANNELS: Final = 8
_THIS: Final = "this one"
_LAYERS: Final = "layer by layer"
_ALONE: Final = "Alone: node groups that the core cannot run are on their fastest core."


@final
@dataclass(frozen=True, slots=True)
class StreamFiles:
    """The files that results are written to, in addition to the store."""

    json: Path | None = None
    schedule: Path | None = None
    trace: Path | None = None

    def check(self, taken: tuple[str | Path | None, ...]) -> None:
        """Checks that the files can be written, and that none of them is used already.

        Raises:
            InputError: where a file cannot be written, or is used already.
        """
        check_target("--json", self.json, taken)
        check_target("--schedule", self.schedule, (*taken, self.json))
        check_target("--trace", self.trace, (*taken, self.json, self.schedule))

    def write(
        self, found: StreamResult, layers: StreamResult | None, place: StoreTarget | None
    ) -> None:
        """Writes the files; call it before printing, because the output pipe may be closed."""
        run = None if place is None else found.run
        if self.json is not None:
            write_json(self.json, stream_json(found, layers, run))
        if self.schedule is not None:
            write_json(self.schedule, schedule_json(found.schedule))
        if self.trace is not None:
            write_text(self.trace, perfetto_trace(found.schedule))

    def tell(self) -> None:
        """Prints the paths of the files."""
        for target in (self.json, self.schedule, self.trace):
            if target is not None:
                print_note(f"Written to {target}.")


def run_stream(options: StreamCommandOptions) -> None:
    """Schedules the network, writes the files, prints the tables.

    Raises:
        NestmapError: where an option is invalid, or no mapping fits.
    """
    with rename_options():
        plan = StreamPlan.of(options.search)
    place = chosen_store(options.store, options.no_store)
    label = chosen_label(options.run_name, options.tags, place)
    files = StreamFiles(options.json, options.schedule, options.trace)
    path = None if place is None else place.path
    files.check((options.workload.name, options.cores, options.mapping, path))
    problem = read_problem(options.workload, options.cores, options.mapping)
    counting = Counting.of(options.reference) or Counting.EXACT
    plan = copy_with(plan, {"split": chosen_split(options.split, counting, problem)})
    workers = available_workers() if options.workers is None else options.workers
    job = StreamJob(problem, plan, workers, label)
    with rename_options():
        layers = _layer_by_layer(options, job, place) if options.compare_lbl else None
        found = _streamed(job, place)
    files.write(found, layers, place)
    _print(problem, found, layers)
    files.tell()
    _print_place(found.run, place)


def _layer_by_layer(
    options: StreamCommandOptions, job: StreamJob, place: StoreTarget | None
) -> StreamResult:
    """Runs the same job layer by layer; before the requested run, so that this is the last one."""
    split_network(job.plan, job.problem)  # reports an input error before anything is searched
    whole = SplitOptions(
        mode=SplitMode.OUTER, counting=Counting.of(options.reference) or Counting.EXACT
    )
    return _streamed(replace(job, plan=copy_with(job.plan, {"split": whole})), place)


def _streamed(job: StreamJob, place: StoreTarget | None) -> StreamResult:
    if place is None:
        with print_nothing_kept("without --no-store"), StreamBar() as bar:
            return stream_problem(job, progress=bar)
    with place.open() as store, print_resume_hint(store, place), StreamBar() as bar:
        return stream_problem(job, store=store, progress=bar)


def resume_multicore(
    going: tuple[UUID, Store, StoreTarget], workers: int | None, json: Path | None
) -> None:
    """Resumes a run of an open store, writes the file, prints the tables.

    Raises:
        NestmapError: where the run cannot be resumed, or no mapping fits.
    """
    run, store, place = going
    info = store.stream_info(run)
    with print_resume_hint(store, place), StreamBar() as bar:
        found = resume_stream(run, store, workers=workers, progress=bar)
    files = StreamFiles(json)
    files.write(found, None, place)
    problem = StreamProblem(
        workload=info.workload, accelerator=info.accelerator, mapping=info.mapping
    )
    _print(problem, found, None)
    files.tell()
    _print_place(run, place)


def _print(problem: StreamProblem, found: StreamResult, layers: StreamResult | None) -> None:
    objectives = " and ".join(found.search.objectives)
    show_prose(
        f"{printable(found.workload)} on {printable(found.accelerator)}: the Pareto front of "
        f"allocations to cores in {objectives}"
    )
    front = allocation_table(found.front, found.problem.space, found.best)
    show_table(front, MOST_FRONT)
    _print_schedule(found)
    notes = [problem_note(found.problem), _search_note(found)]
    if found.bound is not None:
        notes.append(bound_note(found.bound))
    passing = passing_note(problem.workload, found.problem.nodes)
    for note in (*notes, *([passing] if passing else [])):
        show_prose(note)
    _print_comparison(found, layers)


def _print_schedule(found: StreamResult) -> None:
    schedule = found.schedule
    show_prose(
        f"The allocation with the lowest {found.plan.objective.value}: "
        f"{cycles(schedule.latency)} cycles, {energy(schedule.energy.total)}."
    )
    show([Line(), *table_lines(core_table(schedule))])
    show([Line(), *table_lines(channel_table(schedule), most=MOST_CHANNELS)])
    show([Line(), *table_lines(memory_table(schedule))])
    show_table(energy_table(schedule))


def _search_note(found: StreamResult) -> str:
    generation = found.search.generation
    many = f"{count(generation.evaluations)} allocations were scheduled"
    if found.search.is_complete:
        return f"{many}: all there are."
    return f"{many}, in {count(generation.number + 1)} generations."


def _print_comparison(found: StreamResult, layers: StreamResult | None) -> None:
    """Prints the schedule beside the best one on a single core and the one layer by layer."""
    this, nodes, alone = _fitness_of(found), len(found.problem.nodes), found.single_core
    schedules, notes = [Compared(_THIS, nodes, this)], list[str]()
    if alone is not None:
        core = found.problem.accelerator.core(alone.core)
        name = f"core {alone.core} {printable(core.name)} alone"
        schedules.append(Compared(name, nodes, alone.fitness))
        notes = [comparison_note(name, this, alone.fitness), _ALONE]
    if layers is not None:
        other = _fitness_of(layers)
        schedules.append(Compared(_LAYERS, len(layers.problem.nodes), other))
        notes.append(comparison_note(_LAYERS, this, other))
    if len(schedules) > 1:
        show_table(comparison_table(schedules))
    for note in notes:
        show_prose(note)


def _fitness_of(found: StreamResult) -> Fitness:
    """The fitness of the reported schedule."""
    fitness = found.best.fitness
    if fitness is None:
        raise InputError("schedule", "an allocation without a schedule", "one that was scheduled")
    return fitness


def _print_place(run: UUID, place: StoreTarget | None) -> None:
    """Prints where the results are recorded, and how to query them."""
    if place is None:
        return
    print_note(f"Recorded in {place.path} as run {run}. Query it, for example:")
    print_note(f"  nestmap query stream_layers_of --run last{place.option}")
    print_note(f"  nestmap query stream_transfers --run last{place.option}")


# --- the progress bar of an exploration on several cores: costs of nodes, then generations ---


@final
class StreamBar(ProgressBar):
    """The progress of an exploration on several cores; its rate is that of allocations."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, "splitting")
        self._costs = 0
        self._evaluations = 0
        self._generations = 0
        self._before: int | None = None

    def split(self, split: SplitProblem) -> None:
        """The network is split; the search for the costs of its nodes begins."""
        self._line.update(f"of {count(len(split.nodes))} nodes", description="costing")

    def costed(self, done: int, of: int) -> None:
        """This many of the costs are known."""
        self._costs = done
        text = f"{count(done)} of {count(of)} costs"
        self._line.update(text, description="costing", completed=done, total=of)

    def prove(self, problem: ScheduleProblem) -> None:
        """All costs are known; constraint programming begins."""
        genes = f"{count(len(problem.space.free_groups))} groups with a choice"
        self._line.update(genes, description="proving", completed=0)

    def search(self, problem: ScheduleProblem, generations: int) -> None:
        """All costs are known; this many generations follow the first one."""
        self._clock.skip()
        self._generations = generations
        self._line.update("", description="generation", completed=0, total=generations)

    def observe(self, generation: Generation) -> None:
        """A generation is complete."""
        if self._before is None:  # earlier ones were recorded before the run was resumed
            self._before = generation.evaluations - len(generation.scheduled)
        self._evaluations = generation.evaluations - self._before
        self._clock.add_work()
        number = f"{generation.number} of {self._generations}"
        text = f"{number}  {_best(generation)}  {self._scheduled()}"
        self._line.update(text, description="generation", completed=generation.number)

    def _summary(self) -> tuple[str, str]:
        costed = f"Costed {count(self._costs)} kinds of nodes on cores"
        return f"{costed}, {self._scheduled()}, all", ""

    def _scheduled(self) -> str:
        if not self._evaluations:
            return "scheduled no allocations"
        text = f"scheduled {count(self._evaluations)} allocations"
        rate = self._clock.per_second(self._evaluations)
        return text if rate is None else f"{text}, {count(int(rate))}/s"


def _best(generation: Generation) -> str:
    """The lowest latency and the lowest energy on the front."""
    known: list[Fitness] = [x.fitness for x in generation.front if x.fitness is not None]
    if not known:
        return "no schedule yet"
    latency, spent = min(x.latency for x in known), min(x.energy for x in known)
    return f"{cycles(latency)} cycles, {energy(spent)}"
