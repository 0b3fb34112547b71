"""``nestmap report``: everything about runs in one HTML file that needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import remark
from nestmap.pipeline.util.atomic_files import write_text
from nestmap.pipeline.util.extras import REPORT, check_installed
from nestmap.store import Store


@final
@dataclass(frozen=True, slots=True)
class ReportRequest:
    """The arguments of the command; each run is ``last``, an id or the beginning of one."""

    runs: tuple[str, ...]
    output: Path
    store: Path


def run_report(request: ReportRequest) -> None:
    """Writes the report, and says where it is.

    Raises:
        NestmapError: where a package is missing, something given is not right, or the file cannot
            be written.
    """
    check_installed("report", REPORT, "report")
    check_target("--output", request.output, (request.store,))
    with Store.open_read_only(request.store) as store:
        runs = [store.find_run(text) for text in request.runs]
        from nestmap.pipeline.pages.report.page import report  # noqa: PLC0415 (takes long to import)

        text = report(store, runs)
    write_text(request.output, text)
    remark(f"Written to {request.output}.")
