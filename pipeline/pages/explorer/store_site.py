"""The store behind the pages, opened for each page, with a cache of pages."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from difflib import get_close_matches
from pathlib import Path
from threading import Lock
from typing import Final, final
from uuid import UUID

from anyio import CapacityLimiter
from markupsafe import Markup

from nestmap.model import StoreError
from nestmap.pipeline.pages.report.run import ReportedRun
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.store import Store
from nestmap.store.read.question import MEMORY, Answer, Question

PATIENCE: Final = 3.0
"""How long a page waits for a process that writes to the store (s)."""

TIME_LIMIT: Final = 20.0
"""How long a page may read at a time (s): the macros of a store may be anybody's."""

_MOST_PAGES: Final = 64
_MOST_NAMES: Final = 12
_QUESTIONS: Final = 4
"""Questions that are answered at a time; their threads are not those that make pages."""


class MissingError(Exception):
    """No page at this address; the message says what was found and what exists."""


@final
class Kept:
    """A cache of the most recent pages that take long to build."""

    def __init__(self, most: int = _MOST_PAGES) -> None:
        self._most = most
        self._pages: OrderedDict[Hashable, Markup] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._pages)

    def get(self, key: Hashable, make: Callable[[], Markup]) -> Markup:
        """The page of the key, built if it is not cached; equal keys mean equal pages."""
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
    """A store, the questions it is asked, and a cache of pages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.question_threads = CapacityLimiter(_QUESTIONS)
        self.kept = Kept()
        self._asked: set[Question] = set()
        self._lock = Lock()

    def open(self) -> Store:
        """Opens the store; close it once the page is built, because others may want to write.

        Raises:
            StoreError: if it cannot be read.
        """
        return Store.open_read_only(self.path, PATIENCE, TIME_LIMIT, MEMORY)

    def key(self, run: ReportedRun, layer: str) -> Hashable:
        """The cache key of a layer's page; it changes while the run is incomplete."""
        record = run.record
        file = self.path.stat()
        changing = () if run.complete else (file.st_mtime_ns, file.st_size)
        return (file.st_ino, record.id, record.ended, record.resumed, layer, *changing)

    def ask(self, question: Question) -> Answer:
        """The answer to a question.

        Raises:
            StoreError: as :meth:`nestmap.store.read.question.Question.ask` does.
        """
        with self._lock:
            self._asked.add(question)
        try:
            return question.ask(self.path, PATIENCE)
        finally:
            with self._lock:
                self._asked.discard(question)

    def close(self) -> None:
        """Cancels the questions that are being answered."""
        with self._lock:
            for question in self._asked:
                question.cancel()


def find_run(store: Store, text: str) -> UUID:
    """The run in an address.

    Raises:
        MissingError: if there is none; lists the runs.
    """
    try:
        return store.find_run(text)
    except StoreError as error:
        raise MissingError(str(error)) from None


def find_layer(run: ReportedRun, layer: str) -> str:
    """The layer in an address.

    Raises:
        MissingError: if the run has no result for it; lists similar names or the first ones.
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
