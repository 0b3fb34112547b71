"""Checks that result files can be written, before the work begins."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nestmap.model import InputError
from nestmap.pipeline.util.atomic_files import check_writable


def check_target(option: str, target: Path | None, others: Iterable[str | Path | None]) -> None:
    """Checks the file of an option; ``others`` are the files it must not overwrite.

    Raises:
        InputError: where the file cannot be written, or is one of the others.
    """
    if target is None:
        return
    for other in others:
        if other is not None and target.resolve() == Path(other).resolve():
            found = f"{other}, which is used already"
            raise InputError(f"{option} {target}", found, "a different file")
    check_writable(target)
