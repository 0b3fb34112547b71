"""``nestmap sweep``: the front as a table, all designs in a file, the store."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, final

from nestmap.model import Counting, InputError
from nestmap.model.design_space.space import DesignSpace
from nestmap.pipeline.cli.error_handling import exit_without_mapping
from nestmap.pipeline.cli.options.explore import ResumeOptions
from nestmap.pipeline.cli.options.multicore import SplitArguments
from nestmap.pipeline.cli.options.sweep import SweepFileOptions, SweepOptions
from nestmap.pipeline.cli.printing import check_target, print_note
from nestmap.pipeline.cli.progress_line import ProgressBar, left_text
from nestmap.pipeline.cli.recorded_sweep import show_front
from nestmap.pipeline.cli.split_arguments import HINTS, parse_split, rename_options
from nestmap.pipeline.cli.store_target import StoreTarget, print_nothing_kept
from nestmap.pipeline.explore.choices import member_by_name
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.multicore.options import AllocationOptions
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.render.text.query_result_file import Layout, layout_of, write_answer
from nestmap.pipeline.sweep.api import resume_sweep
from nestmap.pipeline.sweep.choice.choice import choose_designs
from nestmap.pipeline.sweep.explore_designs import DesignPoints
from nestmap.pipeline.sweep.methods.sweep_method import default_stream_plan, sweep_method
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.record.question import SweepJob, sweep_info
from nestmap.pipeline.sweep.result.result import SweepResult
from nestmap.pipeline.sweep.run import Execution, run_sweep
from nestmap.pipeline.sweep.space.base_format import names_multicore
from nestmap.pipeline.sweep.space.checked_space import located_space
from nestmap.pipeline.util.atomic_files import write_text
from nestmap.pipeline.util.extras import REPORT, check_installed
from nestmap.pipeline.util.image_files import check_drawing

if TYPE_CHECKING:
    from rich.console import Console

    from nestmap.store import Store

# --- the progress bar of a sweep: designs, of how many, how fast, and the size of the front ---


@final
class SweepBar(ProgressBar):
    """The progress of a sweep; its rate is that of designs."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, "checking")
        self._designs = self._explored = self._recalled = 0

    def start(self, designs: int) -> None:
        """The sweep of so many designs begins."""
        self._designs = designs
        self._clock.restart()
        self._line.update(description="exploring", completed=0, total=designs)

    def explored(self, points: DesignPoints, front: int) -> None:
        """A design is explored; this many points are on the front now."""
        self._explored += 1
        self._clock.add_work()
        self._show(front)

    def recalled(self, points: DesignPoints, front: int) -> None:
        """The store knows a design, which says nothing about the rate."""
        self._recalled += 1
        self._clock.skip()
        self._show(front)

    @property
    def _done(self) -> int:
        return self._explored + self._recalled

    def _show(self, front: int) -> None:
        parts = [f"{count(self._done)} of {count(self._designs)} designs", self._rate()]
        text = ", ".join(filter(None, [*parts, f"front {count(front)}", self._left()]))
        self._line.update(text, description="exploring", completed=self._done)

    def _rate(self) -> str:
        rate = self._clock.per_second(self._explored)
        return "" if rate is None else f"{rate:.3g}/s"

    def _left(self) -> str:
        rate = self._clock.per_second(self._explored)
        return "" if rate is None else left_text((self._designs - self._done) / rate)

    def _summary(self) -> tuple[str, str]:
        known = f" {count(self._recalled)} were in the store." if self._recalled else ""
        return f"Explored {count(self._explored)} designs", known


# --- the front as a table, all designs in a file, the store ---


def run_sweep_command(options: SweepOptions) -> None:
    """Explores the designs, writes the files, prints the front.

    Raises:
        NestmapError: where an option or the space is invalid, or a file cannot be written.
    """
    files = options.files
    layout = _checked_layout(options.space, files)
    job = _job(options)
    name = job.method.checked.settings.space.name
    with (
        print_nothing_kept("with --store FILE")
        if files.store is None
        else _resume_hint(name, StoreTarget(files.store)),
        SweepBar() as bar,
    ):
        found = run_sweep(job, _execution(options), bar)
    _write(found, job, files, layout)
    show_front(found.summary)
    exit_without_mapping(() if found.front else found.infeasible)


def resume_recorded(store: Store, place: StoreTarget, options: ResumeOptions) -> None:
    """Goes on with a recorded sweep, and prints the front.

    Raises:
        NestmapError: where there is no such sweep, or the store cannot be written.
    """
    with _resume_hint(options.run, place), SweepBar() as bar:
        found = resume_sweep(
            options.run,
            store,
            workers=options.workers,
            on=options.sweeps.on,
            runs=options.sweeps.runs or "front",
            progress=bar,
        )
    show_front(found.summary)
    exit_without_mapping(() if found.front else found.infeasible)


@contextmanager
def _resume_hint(name: str, place: StoreTarget) -> Generator[None]:
    """Prints how to resume a sweep if the user interrupts it."""
    try:
        yield
    except KeyboardInterrupt:
        print_note(f"To resume: nestmap resume {shlex.quote(name)}{place.option}")
        raise


def _execution(options: SweepOptions) -> Execution:
    files, search = options.files, options.search
    return Execution(
        workers=search.get("workers"), on=search.get("on"), store=files.store, runs=files.runs
    )


def _job(options: SweepOptions) -> SweepJob:
    located = located_space(options.space)
    files, choice = options.files, options.choice
    method = sweep_method(
        located,
        options.search,
        _stream_plan(located.space, options),
        static_energy=options.static_energy,
        store=files.store,
    )
    strategy = member_by_name(Strategy, choice.strategy, "--strategy")
    chosen = choose_designs(method.checked, strategy, choice.designs, choice.design_seed)
    return SweepJob(method, chosen, choice)


def _stream_plan(space: DesignSpace, options: SweepOptions) -> StreamPlan | None:
    """The plan of schedules on several cores; ``None`` for a single core."""
    given, allocation = options.split, options.allocation
    if not names_multicore(space.accelerator):
        if (given, allocation) != (SplitArguments(), AllocationOptions()):
            hint = "they say how networks are split, allocated to several cores and scheduled"
            raise InputError.conflict("options for several cores", "a base with a single one", hint)
        return None
    reference = options.search.get("reference")
    if given == SplitArguments() and reference:
        raise InputError.conflict("--reference", f"no {HINTS}", "give the loops to split")
    counting = Counting.of(reference) or Counting.EXACT
    split = None if given == SplitArguments() else parse_split(given, counting)
    with rename_options():
        return default_stream_plan(space, allocation, split)


def _checked_layout(space: str, files: SweepFileOptions) -> Layout | None:
    """The format of the output, after checks that all files can be written."""
    check_target("--output", files.output, (space, files.store))
    for option, folder in (("--save-front", files.save_front), ("--plot", files.plot)):
        if folder is not None and (folder.is_file() or not folder.parent.is_dir()):
            found = "a file" if folder.is_file() else "a folder in one that does not exist"
            raise InputError(f"{option} {folder}", found, "a folder, which may be new")
    if files.plot is not None:
        check_drawing()
    if files.report is not None:
        check_installed("--report", REPORT, "report")
        check_target("--report", files.report, (space, files.store, files.output))
    if files.output is None:
        if files.format is not None:
            raise InputError.conflict("--format", "no --output", "give a file to write")
        return None
    return layout_of(files.format and Layout(files.format), files.output)


def _write(
    found: SweepResult, job: SweepJob, files: SweepFileOptions, layout: Layout | None
) -> None:
    """Writes the files; before printing, because the output pipe may be closed."""
    if files.output is not None and layout is not None:
        write_answer(files.output, found.relation(), layout)
        print_note(f"Written to {files.output}.")
    if files.save_front is not None:
        files.save_front.mkdir(exist_ok=True)
        designs = {x.number: x for x in found.front}
        for number, design in designs.items():
            path = Path(files.save_front) / f"{number}.yaml"
            write_text(path, found.accelerator_yaml(design))
        print_note(f"Written to {files.save_front}: {len(designs)} accelerators.")
    if files.plot is not None and found.front:
        from nestmap.pipeline.cli.plot import plot_sweep  # noqa: PLC0415 (slow to import)

        files.plot.mkdir(exist_ok=True)
        plot_sweep(found.view, files.plot)
    if files.report is not None:
        write_text(files.report, _report(found, job, files.store))
        print_note(f"Written to {files.report}.")


def _report(found: SweepResult, job: SweepJob, store: Path | None) -> str:
    """The page of the sweep; of a recorded one, with the runs of its designs."""
    if store is None:
        from nestmap.pipeline.pages.report.sweep_page import sweep_document  # noqa: PLC0415 (slow)

        return sweep_document(found.summary)
    from nestmap.pipeline.pages.report.recorded_sweep import sweep_report  # noqa: PLC0415 (as above)
    from nestmap.store import Store  # noqa: PLC0415 (takes long to import)

    with Store.open_read_only(store) as opened:
        return sweep_report(opened, sweep_info(job).key)
