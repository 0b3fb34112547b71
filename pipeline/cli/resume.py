"""``nestmap resume``: a run that was interrupted goes on, of whichever kind it is."""

from __future__ import annotations

from pathlib import Path

from nestmap.model import InputError
from nestmap.pipeline.cli.explore import Resumption, run_resumed
from nestmap.pipeline.cli.store_target import Place
from nestmap.store import RunKind, Store


def run_resume(run: str, store: Path, given: Resumption) -> None:
    """Goes on with a run, writes the files, prints the results.

    Raises:
        NestmapError: where something given is not right, or nothing fits.
    """
    given.files.check((store,))
    Store.open_read_only(store).close()  # nothing is made where there is no store
    place = Place(store)
    with place.open() as opened:
        number = opened.find_run(run)
        if opened.run(number).kind is RunKind.EXPLORE:
            run_resumed(number, opened, place, given)
            return
        if given.files.mapping is not None:
            found = "--save-mapping for a run of several cores"
            raise InputError("nestmap resume", found, "no such option: it has no such mapping")
        # what schedules loads long
        from nestmap.pipeline.cli.stream import resume_streamed  # noqa: PLC0415

        resume_streamed((number, opened, place), given.workers, given.files.json)
