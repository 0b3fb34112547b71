"""Which run a text means."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from nestmap.model import StoreError
from nestmap.store import Store
from tests.store.builders import NASTY, info

OLD = UUID("5f3a91c4-0000-4000-8000-000000000001")
MIDDLE = UUID("5f3a92c4-0000-4000-8000-000000000001")
NEW = UUID("0d000000-0000-4000-8000-000000000001")


def record_runs(store: Store) -> None:
    """Records three runs, the last one with an id that sorts first."""
    for hour, wanted in enumerate((OLD, MIDDLE, NEW)):
        with store.start_run(info()) as run:
            run.fail("enough")
        store.query(
            "UPDATE runs SET id = ?, started = TIMESTAMP '2026-01-02' + to_hours(?) WHERE id = ?",
            (wanted, hour, run.id),
        )


@pytest.fixture(name="store", scope="module")
def _store() -> Iterator[Store]:
    """A store with these runs, only to be read."""
    with Store.open(None) as store:
        record_runs(store)
        yield store


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("last", NEW),
        (str(OLD), OLD),
        (str(OLD).upper(), OLD),
        ("5f3a91", OLD),
        ("5f3a92c4-0", MIDDLE),
        (" 0 ", NEW),
    ],
)
def test_a_run_is_found(store: Store, text: str, run: UUID) -> None:
    assert store.find_run(text) == run


def test_a_beginning_of_several_lists_them(store: Store) -> None:
    with pytest.raises(StoreError) as raised:
        store.find_run("5f3a")
    assert str(raised.value) == (
        "run '5f3a': found 2 runs whose id begins so or that have this name; "
        "expected more of the id of one: "
        f"{MIDDLE} (failed, started 2026-01-02 01:00:00), "
        f"{OLD} (failed, started 2026-01-02 00:00:00)"
    )


@pytest.mark.parametrize("text", ["", " ", "%", "_", "first", "5f3a91x", f"{OLD}0", NASTY, "'"])
def test_what_no_run_begins_with_is_told(store: Store, text: str) -> None:
    with pytest.raises(StoreError, match="found no such run; expected last, the id") as raised:
        store.find_run(text)
    assert str(NEW) in str(raised.value)
    assert len(store.runs()) == 3


def test_only_the_newest_are_listed() -> None:
    with Store.open(None) as store:
        record_runs(store)
        for _ in range(4):
            with store.start_run(info()) as run:
                run.fail("enough")
        with pytest.raises(StoreError, match=r"and 2 older ones$"):
            store.find_run("x")


@pytest.mark.parametrize("text", ["last", "5f3a", ""])
def test_a_store_without_runs_says_so(text: str) -> None:
    with Store.open(None) as store, pytest.raises(StoreError, match="found no run in this store"):
        store.find_run(text)
