"""``nestmap sweep``: the front as a table, all designs in a file, the store."""

from __future__ import annotations

from pathlib import Path

from nestmap.model import InputError
from nestmap.pipeline.cli.error_handling import exit_without_mapping
from nestmap.pipeline.cli.options.sweep import SweepFileOptions, SweepOptions, SweepSearchOptions
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import print_note, show, show_prose
from nestmap.pipeline.cli.sweep_progress import SweepBar
from nestmap.pipeline.explore.choices import member_by_name
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.render.figures.preconditions import check_matplotlib
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines
from nestmap.pipeline.render.text.query_result_file import Layout, layout_of, write_answer
from nestmap.pipeline.sweep.api import SweepJob, plan_of_sweep, run_sweep
from nestmap.pipeline.sweep.checked_space import check_space, located_space
from nestmap.pipeline.sweep.choice import choose_designs
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.result import SweepResult
from nestmap.pipeline.sweep.result_table import front_table, heading, notes
from nestmap.pipeline.util.atomic_files import write_text
from nestmap.pipeline.util.extras import REPORT, check_installed


def run_sweep_command(options: SweepOptions) -> None:
    """Explores the designs, writes the files, prints the front.

    Raises:
        NestmapError: where an option or the space is invalid, or a file cannot be written.
    """
    files = options.files
    layout = _checked_layout(options.space, files)
    job = _job(options)
    with SweepBar() as bar:
        try:
            found = run_sweep(
                job,
                workers=options.search.workers,
                on=options.search.on,
                store=files.store,
                progress=bar,
            )
        except KeyboardInterrupt:
            if files.store is not None:
                print_note("To go on, start the same sweep again with this store.")
            raise
    _write(found, files, layout)
    _show(found)
    exit_without_mapping(() if found.front else found.infeasible)


def _job(options: SweepOptions) -> SweepJob:
    located = located_space(options.space)
    plan = plan_of_sweep(located.space, _search_options(options.search))
    files, choice = options.files, options.choice
    checked = check_space(located, static_energy=options.static_energy, store=files.store)
    strategy = member_by_name(Strategy, choice.strategy, "--strategy")
    chosen = choose_designs(checked, strategy, choice.designs, choice.design_seed)
    return SweepJob(checked, chosen, plan)


def _search_options(options: SweepSearchOptions) -> SearchOptions:
    return SearchOptions(
        objective=options.objective,
        search=options.search,
        time_limit=options.time_limit,
        lpf_limit=... if options.lpf_limit is None else options.lpf_limit,
        spatial_mappings=options.spatial_mappings,
        workers=options.workers,
    )


def _checked_layout(space: str, files: SweepFileOptions) -> Layout | None:
    """The format of the output, after checks that all files can be written."""
    check_target("--output", files.output, (space, files.store))
    for option, folder in (("--save-front", files.save_front), ("--plot", files.plot)):
        if folder is not None and (folder.is_file() or not folder.parent.is_dir()):
            found = "a file" if folder.is_file() else "a folder in one that does not exist"
            raise InputError(f"{option} {folder}", found, "a folder, which may be new")
    if files.plot is not None:
        check_matplotlib()
    if files.report is not None:
        check_installed("--report", REPORT, "report")
        check_target("--report", files.report, (space, files.store, files.output))
    if files.output is None:
        if files.format is not None:
            raise InputError.conflict("--format", "no --output", "give a file to write")
        return None
    return layout_of(files.format and Layout(files.format), files.output)


def _write(found: SweepResult, files: SweepFileOptions, layout: Layout | None) -> None:
    """Writes the files; before printing, because the output pipe may be closed."""
    if files.output is not None and layout is not None:
        write_answer(files.output, found.relation(), layout)
        print_note(f"Written to {files.output}.")
    if files.save_front is not None:
        files.save_front.mkdir(exist_ok=True)
        for design in found.front:
            path = Path(files.save_front) / f"{design.number}.yaml"
            write_text(path, found.accelerator_yaml(design))
        print_note(f"Written to {files.save_front}: {len(found.front)} accelerators.")
    if files.plot is not None and found.front:
        from nestmap.pipeline.cli.plot_sweep import plot_sweep  # noqa: PLC0415 (slow to import)

        files.plot.mkdir(exist_ok=True)
        plot_sweep(found.view, files.plot)
    if files.report is not None:
        from nestmap.pipeline.pages.report.sweep_page import sweep_document  # noqa: PLC0415 (slow)

        write_text(files.report, sweep_document(found))
        print_note(f"Written to {files.report}.")


def _show(found: SweepResult) -> None:
    if found.front:
        show_prose(printable(heading(found)))
        show([Line(), *table_lines(front_table(found)), Line()])
    for note in notes(found):
        show_prose(printable(note))
