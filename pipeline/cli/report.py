"""``nestmap report``: writes a report of runs as one self-contained HTML file."""

from nestmap.pipeline.cli.options.view import ReportOptions
from nestmap.pipeline.cli.printing import check_target, print_note
from nestmap.pipeline.cli.store_target import is_sweep
from nestmap.pipeline.util.atomic_files import write_text
from nestmap.pipeline.util.extras import REPORT, check_installed
from nestmap.store import Store


def run_report(options: ReportOptions) -> None:
    """Writes the report, and prints its path.

    Raises:
        NestmapError: where a package is missing, an option is invalid, or the file cannot be
            written.
    """
    check_installed("report", REPORT, "report")
    check_target("--output", options.output, (options.store,))
    with Store.open_read_only(options.store) as store:
        if len(options.runs) == 1 and is_sweep(store, options.runs[0]):
            from nestmap.pipeline.pages.report.recorded_sweep import sweep_report  # noqa: PLC0415 (slow to import)

            write_text(options.output, sweep_report(store, options.runs[0]))
            print_note(f"Written to {options.output}.")
            return
        runs = [store.find_run(text) for text in options.runs]
        from nestmap.pipeline.pages.report.page import report  # noqa: PLC0415 (takes long to import)

        text = report(store, runs)
    write_text(options.output, text)
    print_note(f"Written to {options.output}.")
