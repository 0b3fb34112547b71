"""What is recalled of a search decides like all that it evaluated."""

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nestmap.model import (
    EvaluationBatch,
    Infeasibility,
    Objective,
    Recording,
    RecordMode,
    SearchStatistics,
)
from nestmap.search import best_of, pareto_front
from nestmap.store import Search
from nestmap.store.rows.run_records import RecordedNumbers
from tests.store.builders import FACTORS, accelerator, batch, layer, search_info, spatial_problem
from tests.sweeps import some_of

Searches = list[list[EvaluationBatch]]
"""The batches of searches, each of another spatial mapping."""

COSTS: Final = st.sampled_from([0.0, 1.0, 1.0 + 2**-52, 2.0, 3.0, 6.0, 1e100])
"""Few different costs, so that many are equal, and so are their products."""


@st.composite
def searches(draw: st.DrawFn) -> Searches:
    """Searches with batches of different mappings, some of them empty."""
    return [
        [draw(batches(unrolled)) for _ in range(draw(st.integers(1, 4)))]
        for unrolled in draw(st.lists(st.sampled_from([1, 2, 4]), min_size=1, unique=True))
    ]


@st.composite
def batches(draw: st.DrawFn, unrolled: int) -> EvaluationBatch:
    rows = draw(st.integers(0, 6))
    problem = spatial_problem(layer(), accelerator(), unrolled)
    factors = tuple(draw(st.lists(st.sampled_from(FACTORS), min_size=1, unique=True)))
    reasons = draw(st.lists(st.sampled_from("abc"), max_size=2, unique=True))
    failed = tuple(Infeasibility(reason=x, count=draw(st.integers(0, 9))) for x in reasons)
    statistics = SearchStatistics(evaluations=rows, infeasible=failed)
    drawn = batch(problem, rows, factors, statistics, seed=draw(st.integers(0, 99)))
    energy, latency = (draw(arrays(np.float64, rows, elements=COSTS)) for _ in range(2))
    return replace(drawn, energy=energy, latency2=latency)


def recalled(given: list[EvaluationBatch]) -> list[EvaluationBatch]:
    """What a search of these batches gives when it is asked for again."""
    info, recording = search_info(given[0].mappings.problem), Recording(record=RecordMode.NONE)
    search = Search(info, 7, recording, RecordedNumbers(), nobody_takes)
    for one in given:
        search.record(one)
    search.end()
    return list(search.front())


def nobody_takes(_: Search, table: pa.Table) -> None:
    raise AssertionError(f"{table.num_rows} rows are written")


Chosen = list[tuple[object, ...]]


def rows_of(chosen: EvaluationBatch) -> Chosen:
    """Problem, mapping and costs of each row, and what the whole says of the search."""
    columns = (chosen.energy, chosen.latency0, chosen.latency1, chosen.latency2)
    costs = zip(*(column.tolist() for column in columns), strict=True)
    return [
        (chosen.mappings.problem, chosen.mappings.row(i), row, chosen.statistics)
        for i, row in enumerate(costs)
    ]


@settings(max_examples=some_of(150), deadline=None)
@given(searches())
@pytest.mark.parametrize("objective", Objective)
def test_the_best_of_what_is_recalled_is_the_best_of_all(
    objective: Objective, found: Searches
) -> None:
    everything = [one for search in found for one in search]
    known = [one for search in found for one in recalled(search)]
    whole, part = best_of(everything, objective), best_of(known, objective)
    assert rows_of(part) == rows_of(whole)
    assert part.statistics == whole.statistics


@settings(max_examples=some_of(150), deadline=None)
@given(searches())
def test_the_front_of_fronts_is_the_front_of_all(found: Searches) -> None:
    whole = pareto_front(one for search in found for one in search)
    part = pareto_front(one for search in found for one in recalled(search))
    assert [rows_of(row) for row in part.rows] == [rows_of(row) for row in whole.rows]
    assert part.statistics == whole.statistics


@settings(max_examples=some_of(100), deadline=None)
@given(searches())
def test_what_is_recalled_is_the_front(found: Searches) -> None:
    for search in found:
        front = pareto_front(search)
        known = recalled(search)
        rows = [row[1:3] for one in known for row in rows_of(one)]
        assert rows == [row[1:3] for one in front.rows for row in rows_of(one)]
        assert sum((one.statistics for one in known), SearchStatistics()) == front.statistics
