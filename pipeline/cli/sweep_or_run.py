"""Tells whether an argument of a command names a sweep or a run."""

from __future__ import annotations

from nestmap.model import StoreError
from nestmap.model.evaluation.recording import LAST_RUN
from nestmap.store import Store


def is_sweep(store: Store, text: str) -> bool:
    """Whether ``text`` names a sweep and no run: its name, or the beginning of its key.

    ``last`` is a run, unless the store has none.
    """
    try:
        store.find_run(text)
    except StoreError:
        return any(
            text in (LAST_RUN, x.info.name) or (text and x.info.key.startswith(text))
            for x in store.sweeps()
        )
    return False
