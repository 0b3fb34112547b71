"""Every reducer obeys the same laws, whatever it looks for."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from weakref import ReferenceType, ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import EvaluationBatch, Objective, SearchStatistics
from nestmap.model.arrays import Floats
from nestmap.pipeline import Stage
from nestmap.pipeline.stages import (
    BestFirstStage,
    KBestStage,
    MinimalEDPStage,
    MinimalEnergyStage,
    MinimalLatencyStage,
    ParetoStage,
)
from nestmap.search import Shortlist
from tests.properties.variants import few_examples
from tests.search.costs import Row, batch, numbers, rows_of_costs, streams


@dataclass(frozen=True)
class Chosen:
    """What a reducer gives: the rows it has chosen, and the statistics."""

    rows: tuple[EvaluationBatch, ...]
    statistics: SearchStatistics

    @property
    def numbers(self) -> list[int]:
        """Which rows they are, in order."""
        return numbers(self.rows)


Reduce = Callable[[Iterable[EvaluationBatch]], Chosen]


def one(stage: Stage[Iterable[EvaluationBatch], EvaluationBatch]) -> Reduce:
    """Reducers that choose a row."""

    def reduce(batches: Iterable[EvaluationBatch]) -> Chosen:
        best = stage(batches)
        return Chosen((best,) if len(best) else (), best.statistics)

    return reduce


def several(stage: Stage[Iterable[EvaluationBatch], Shortlist]) -> Reduce:
    """Reducers that choose some rows."""

    def reduce(batches: Iterable[EvaluationBatch]) -> Chosen:
        chosen = stage(batches)
        assert all(row.statistics == chosen.statistics for row in chosen.rows)
        return Chosen(chosen.rows, chosen.statistics)

    return reduce


def head(stage: Stage[Iterable[EvaluationBatch], tuple[EvaluationBatch, ...]]) -> Reduce:
    """The one that keeps all: what it puts first."""
    return lambda batches: one(MinimalEnergyStage())(stage(batches))


CHOOSING = [
    one(MinimalEnergyStage()),
    one(MinimalLatencyStage()),
    one(MinimalEDPStage()),
    *(several(KBestStage(objective=x, k=k)) for x in Objective for k in (1, 2, 9)),
    several(ParetoStage()),
]
"""Those that keep few rows of a long stream."""

ALL = [*CHOOSING, head(BestFirstStage(objective=Objective.ENERGY))]
each_of_all = pytest.mark.parametrize("reduce", ALL)
each_choosing = pytest.mark.parametrize("reduce", CHOOSING)


def total(batches: Iterable[EvaluationBatch]) -> SearchStatistics:
    return sum((x.statistics for x in batches), start=SearchStatistics())


@each_of_all
@few_examples
@given(rows_of_costs, st.data())
def test_how_a_stream_is_cut_does_not_matter(
    reduce: Reduce, rows: list[Row], data: st.DataObject
) -> None:
    chosen = reduce(iter(data.draw(streams(rows))))
    assert chosen.numbers == reduce([batch(rows)]).numbers
    assert chosen.statistics.evaluations == len(rows)


@each_of_all
@few_examples
@given(rows_of_costs)
def test_what_is_chosen_was_there_with_these_costs(reduce: Reduce, rows: list[Row]) -> None:
    chosen = reduce([batch(rows)])
    assert len(set(chosen.numbers)) == len(chosen.numbers)
    assert bool(chosen.numbers) == bool(rows)
    for row, n in zip(chosen.rows, chosen.numbers, strict=True):
        energy, latency = rows[n]
        costs = (row.energy, row.latency0, row.latency1, row.latency2)
        assert [x.tolist() for x in costs] == [[energy], [latency - 2], [latency - 1], [latency]]


@each_of_all
@few_examples
@given(rows_of_costs)
def test_reducing_what_was_chosen_changes_nothing(reduce: Reduce, rows: list[Row]) -> None:
    chosen = reduce([batch(rows)])
    if chosen.rows:
        assert reduce(chosen.rows).numbers == chosen.numbers


@each_of_all
@few_examples
@given(rows_of_costs.filter(bool), st.data())
def test_reducing_in_two_steps_is_reducing_at_once(
    reduce: Reduce, rows: list[Row], data: st.DataObject
) -> None:
    parts = [reduce([part]) for part in data.draw(streams(rows))]
    again = reduce([row for part in parts for row in part.rows])
    assert again.numbers == reduce([batch(rows)]).numbers


@each_of_all
@few_examples
@given(rows_of_costs.filter(bool), st.data())
def test_rows_that_do_not_win_do_not_matter(
    reduce: Reduce, rows: list[Row], data: st.DataObject
) -> None:
    chosen = reduce([batch(rows)]).numbers
    lost = [n for n in range(len(rows)) if n not in chosen]
    gone = data.draw(st.sets(st.sampled_from(lost))) if lost else set[int]()
    left = [batch([row], n) for n, row in enumerate(rows) if n not in gone]
    assert reduce(left).numbers == chosen


@each_of_all
@few_examples
@given(rows_of_costs)
def test_batches_stay_as_they_are(reduce: Reduce, rows: list[Row]) -> None:
    given_, same = batch(rows), batch(rows)
    first = reduce([given_]).numbers
    assert given_.energy.tolist() == same.energy.tolist()
    assert given_.latency2.tolist() == same.latency2.tolist()
    assert numbers([given_]) == numbers([same])
    assert reduce([given_]).numbers == first


@each_of_all
def test_statistics_add_up_by_reason(reduce: Reduce) -> None:
    batches = [
        batch([(1.0, 5)], reasons={"too small": 3, "too odd": 1}),
        batch([], reasons={"too small": 4}),
        batch([(2.0, 5), (3.0, 4)], first=1, reasons={"too late": 2}),
    ]
    statistics = reduce(batches).statistics
    assert statistics.evaluations == 3
    counts = {entry.reason: entry.count for entry in statistics.infeasible}
    assert counts == {"too small": 7, "too odd": 1, "too late": 2}


@each_of_all
def test_batches_without_rows_do_not_win(reduce: Reduce) -> None:
    full, empty = batch([(1.0, 5)], first=7), batch([])
    for batches in ([full, empty], [empty, full], [empty, full, empty]):
        assert reduce(batches).numbers == [7]


@each_of_all
def test_without_rows_there_are_none_but_the_reasons(reduce: Reduce) -> None:
    batches = [batch([], reasons={"too small": 3}), batch([])]
    chosen = reduce(batches)
    assert chosen.rows == ()
    assert chosen.statistics == total(batches)


@each_choosing
def test_without_batches_there_is_nothing_to_choose_from(reduce: Reduce) -> None:
    with pytest.raises(ValueError, match="no batch"):
        reduce([])


@each_choosing
def test_batches_are_not_kept(reduce: Reduce) -> None:
    alive = 0

    def stream() -> Iterator[EvaluationBatch]:
        nonlocal alive
        for first in range(50):
            made = batch([(float(50 - first), 5)] * 3, first)
            references.append(ref(made.energy))
            yield made
            del made
            alive = max(alive, sum(reference() is not None for reference in references))

    references: list[ReferenceType[Floats]] = []
    reduce(stream())
    assert alive == 1
