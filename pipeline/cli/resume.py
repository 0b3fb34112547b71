"""``nestmap resume``: resumes an interrupted run of either kind."""

from __future__ import annotations

from nestmap.model import InputError
from nestmap.pipeline.cli.explore import ResultFiles, resume_exploration
from nestmap.pipeline.cli.options.explore import ResumeOptions
from nestmap.pipeline.cli.store_target import StoreTarget
from nestmap.store import RunKind, Store


def run_resume(options: ResumeOptions) -> None:
    """Resumes a run, writes the files, prints the results.

    Raises:
        NestmapError: where an option is invalid, or no mapping fits.
    """
    ResultFiles(options.files).check((options.store,))
    Store.open_read_only(options.store).close()  # a missing store is not created
    place = StoreTarget(options.store)
    with place.open() as opened:
        number = opened.find_run(options.run)
        if options.force:
            opened.release_run(number)
        if opened.run(number).kind is RunKind.EXPLORE:
            resume_exploration(number, opened, place, options)
            return
        if options.files.save_mapping is not None:
            hint = "use it for runs on one core"
            raise InputError.conflict("--save-mapping", "a run on several cores", hint)
        # the scheduler takes long to import
        from nestmap.pipeline.cli.stream import resume_multicore  # noqa: PLC0415

        resume_multicore((number, opened, place), options.workers, options.files.json)
