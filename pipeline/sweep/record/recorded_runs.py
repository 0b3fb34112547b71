"""Records runs for designs of a sweep, which show their layers and mappings."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from nestmap.model import Recording, RecordMode, StoreError
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import Design
from nestmap.pipeline.sweep.explore_designs import ExploreDesigns
from nestmap.pipeline.sweep.methods.method import TAG
from nestmap.pipeline.sweep.record.question import SweepJob, key_tag
from nestmap.store import Store

_RUNS: Final = """
SELECT accelerator, workload, objective
FROM runs WHERE status = 'done' AND list_contains(tags, $tag)
"""


def run_recorder(
    job: SweepJob, key: str, store: Store, recording: Recording | None
) -> ExploreDesigns:
    """Explores designs such that each accelerator and network is a run of the store.

    Designs follow one another; the plan's own threads explore each. ``key`` is that of the sweep;
    by default the front of each search is recorded.
    """
    kept = recording or Recording(record=RecordMode.BEST)
    tags = (f"{TAG}{job.method.checked.settings.space.name}", key_tag(key))
    return job.method.recorder(store, kept, tags)


def record_missing_runs(
    points: Iterable[DesignResult],
    job: SweepJob,
    key: str,
    store: Store,
    recording: Recording | None,
) -> None:
    """Records runs for feasible designs, mapped as given, unless the sweep has recorded them.

    Raises:
        StoreError: where they cannot be written.
    """
    known = {
        (str(x["accelerator"]), str(x["objective"]), str(x["workload"])) for x in _rows(store, key)
    }
    networks = [x.content_hash for x in job.method.checked.networks]
    for point in points:
        method = job.method.running_for(point.mapped_for)
        runs = {(str(point.accelerator), method.plan.objective.value, x) for x in networks}
        if point.is_feasible and not runs <= known:
            recorder = run_recorder(job._replace(method=method), key, store, recording)
            list(recorder([Design(point.number, point.parameters)]))
            known |= runs


@contextmanager
def without_unfinished_runs(store: Store, key: str) -> Generator[None]:
    """Leaves no runs behind of designs that were in hand, now or in an earlier process.

    The sweep goes on at these designs, and records their runs anew.

    Raises:
        StoreError: where they cannot be removed.
    """
    store.remove_runs_of_no_design(key, key_tag(key))
    try:
        yield
    except BaseException:
        with suppress(StoreError):  # the error that is on its way says more
            store.remove_runs_of_no_design(key, key_tag(key))
        raise


def _rows(store: Store, key: str) -> Iterator[dict[str, object]]:
    yield from store.query(_RUNS, {"tag": key_tag(key)}).rows()
