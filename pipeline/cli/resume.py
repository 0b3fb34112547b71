"""``nestmap resume``: resumes an interrupted run of either kind, or a sweep."""

from typing import Final

from nestmap.model import InputError
from nestmap.pipeline.cli.explore import ResultFiles, resume_exploration
from nestmap.pipeline.cli.options.explore import ResumeOptions
from nestmap.pipeline.cli.store_target import StoreTarget, is_sweep
from nestmap.store import RunKind, Store

_OF_SWEEPS: Final = "leave them out: they are for sweeps"


def run_resume(options: ResumeOptions) -> None:
    """Resumes a run or a sweep, writes the files, prints the results.

    Raises:
        NestmapError: where an option is invalid, or no mapping fits.
    """
    ResultFiles(options.files).check((options.store,))
    Store.open_read_only(options.store).close()  # a missing store is not created
    place = StoreTarget(options.store)
    with place.open() as opened:
        if is_sweep(opened, options.run):
            _resume_sweep(opened, place, options)
            return
        number = opened.find_run(options.run)
        if options.sweeps.on or options.sweeps.runs:
            raise InputError.conflict(f"the run {options.run}", "--on and --runs", _OF_SWEEPS)
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


def _resume_sweep(store: Store, place: StoreTarget, options: ResumeOptions) -> None:
    """Goes on with a sweep; only its store is written."""
    if options.force or any((options.files.json, options.files.save_mapping)):
        raise InputError.conflict(f"the sweep {options.run}", "options for runs", "leave them out")
    # sweeps take long to import
    from nestmap.pipeline.cli.sweep import resume_recorded  # noqa: PLC0415

    resume_recorded(store, place, options)
