"""What the pages are about: a store that is opened for each page, and what is kept of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from difflib import get_close_matches
from pathlib import Path
from threading import Lock
from typing import Final, final
from uuid import UUID

from markupsafe import Markup

from nestmap.model import StoreError
from nestmap.pipeline.pages.report.run import ReportedRun
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.store import Store
from nestmap.store.sandbox.process import QuerySandbox

PATIENCE: Final = 3.0
"""How long a page waits for who writes to the store (s)."""

_MOST_PAGES: Final = 64
_MOST_NAMES: Final = 12


class MissingError(Exception):
    """There is no page at this address: what was found, and what there is."""


@final
class Kept:
    """Pages that take long to make, under what they were made of; the last ones of them."""

    def __init__(self, most: int = _MOST_PAGES) -> None:
        self._most = most
        self._pages: OrderedDict[Hashable, Markup] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._pages)

    def get(self, key: Hashable, make: Callable[[], Markup]) -> Markup:
        """The page under the key, made if it is not there; equal keys mean equal pages."""
        with self._lock:
            found = self._pages.get(key)
            if found is not None:
                self._pages.move_to_end(key)
                return found
        made = make()
        with self._lock:
            self._pages[key] = made
            while len(self._pages) > self._most:
                self._pages.popitem(last=False)
        return made


@final
class Site:
    """A store, who answers questions about it, and pages that were made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warden = QuerySandbox(path)
        self.kept = Kept()

    def open(self) -> Store:
        """The store, to be let go of as soon as a page is made: others may want to write.

        Raises:
            StoreError: if it cannot be read.
        """
        return Store.open_read_only(self.path, PATIENCE)

    def key(self, run: ReportedRun, layer: str) -> Hashable:
        """What the page of a layer is made of; a run that goes on is another one each time."""
        record = run.record
        file = self.path.stat()
        changing = () if run.complete else (file.st_mtime_ns, file.st_size)
        return (file.st_ino, record.id, record.ended, record.resumed, layer, *changing)

    def close(self) -> None:
        """Ends who answers questions."""
        self.warden.close()


def find_run(store: Store, text: str) -> UUID:
    """The run in an address.

    Raises:
        MissingError: if there is none: the runs that there are.
    """
    try:
        return store.find_run(text)
    except StoreError as error:
        raise MissingError(str(error)) from None


def find_layer(run: ReportedRun, layer: str) -> str:
    """The layer in an address.

    Raises:
        MissingError: if the run has no result for it: names like it, or the first ones.
    """
    if layer in run.results:
        return layer
    names = list(run.results)
    near = get_close_matches(layer, names, n=3) or names[:_MOST_NAMES]
    more = "" if len(near) == len(names) else ", ..."
    raise MissingError(
        f"run {run.id}: found no result of a layer {printable(layer)!r}; expected one of "
        f"{', '.join(map(printable, near))}{more}"
    )
