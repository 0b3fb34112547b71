"""Reuse: what the store knows is not computed again, and the result is the same."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from nestmap.model import NetworkEvaluation, NetworkFront, NetworkProblem, Objective, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore, explore_front, explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.store import Store
from tests.costmodel.machines import matmul
from tests.loma import with_loma
from tests.pipeline.networks import FIRST, MACHINE, NETWORK, PROBLEM, SECOND
from tests.pipeline.stages.kinds import (
    COSTING,
    FRONTS,
    KINDS,
    LARGE,
    SEARCHING,
    SHARING,
    Kind,
    Seen,
    forbid,
    named,
    salsa,
)
from tests.sweeps import every

MAPPING: Final = """
- name: default
  spatial_mapping:
    D1: ["K, 4"]
  temporal_ordering:
    - [C, "*"]
"""


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None) as opened:
        yield opened


def total_of(kind: Kind, store: Store | None) -> NetworkEvaluation:
    return explore_network(kind.network, kind.plan, store=store).total


def front_of(kind: Kind, store: Store | None) -> NetworkFront:
    return explore_front(kind.network, kind.plan, store=store).front


@lru_cache
def total_alone(name: str) -> NetworkEvaluation:
    """The total without a store."""
    return total_of(KINDS[name], None)


@lru_cache
def front_alone(name: str) -> NetworkFront:
    """The front without a store."""
    return front_of(KINDS[name], None)


class Fronted(NamedTuple):
    """A kind of exploration by its name, a store in which its front was found, and this."""

    name: str
    store: Store
    front: NetworkFront


@pytest.fixture(scope="module")
def fronted(request: pytest.FixtureRequest) -> Iterator[Fronted]:
    """What the tests of a front share: none of them may compute what adds to the store."""
    name: str = request.param
    with Store.open(None) as opened:
        yield Fronted(name, opened, front_of(KINDS[name], opened))


@pytest.mark.parametrize("name", every(5, [*KINDS]))
def test_the_second_exploration_computes_nothing(
    name: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = KINDS[name]
    alone, first = total_alone(name), total_of(kind, store)
    forbid(monkeypatch, *SEARCHING, COSTING)
    assert total_of(kind, store) == first == alone


@pytest.mark.parametrize("fronted", every(5, [*FRONTS]), indirect=True)
def test_the_second_front_computes_nothing(
    fronted: Fronted, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, store, first = fronted
    alone = front_alone(name)
    forbid(monkeypatch, *SEARCHING, COSTING)
    assert front_of(KINDS[name], store) == first == alone


@pytest.mark.parametrize("fronted", every(5, [*SHARING]), indirect=True)
def test_fronts_and_the_best_share_their_searches(
    fronted: Fronted, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, store, first = fronted
    best, front = total_alone(name), front_alone(name)
    assert first == front
    forbid(monkeypatch, *SEARCHING)
    assert total_of(KINDS[name], store) == best


def test_what_it_forbids_is_what_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (*SEARCHING, COSTING):
        with monkeypatch.context() as patch:
            forbid(patch, function)
            with pytest.raises(AssertionError, match="computed before"):
                total_of(KINDS["salsa" if function[1] == "anneal" else "loma"], None)


def test_a_mapping_file_is_content_not_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    for path in (one, other):
        path.write_text(MAPPING)
    store = tmp_path / "s.duckdb"
    first = explore(
        NETWORK, MACHINE, one, search="loma", spatial_mappings=3, lpf_limit=4, store=store
    )
    forbid(monkeypatch, *SEARCHING, COSTING)
    assert (
        explore(
            NETWORK, MACHINE, other, search="loma", spatial_mappings=3, lpf_limit=4, store=store
        ).total
        == first.total
    )


def test_another_objective_reuses_every_search(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = {x: SearchPlan.of(with_loma(lpf_limit=4, objective=x)) for x in Objective}
    alone = {x: explore_network(PROBLEM, plan).total for x, plan in plans.items()}
    assert len({total.energy for total in alone.values()}) > 1
    explore_network(PROBLEM, plans[Objective.EDP], store=store)
    forbid(monkeypatch, *SEARCHING)
    for objective, plan in plans.items():
        assert explore_network(PROBLEM, plan, store=store).total == alone[objective]


def test_annealing_for_another_objective_is_another_search(store: Store) -> None:
    plans = {x: copy_with(salsa(), {"objective": x}) for x in Objective}
    alone = {x: explore_network(LARGE, plan).total for x, plan in plans.items()}
    for objective, plan in plans.items():
        seen = Seen()
        total = explore_network(LARGE, plan, store=store, progress=seen).total
        assert total == alone[objective]
        assert set(seen.evaluated) == {"first", "second"}
        assert not seen.recalled


def test_a_layer_that_two_networks_share_is_searched_once(store: Store) -> None:
    third = copy_with(matmul(k=4, c=6), {"name": "third"})
    other = NetworkProblem(
        workload=Workload.of(third, named(FIRST, "mine", "third"), name="other"),
        accelerator=MACHINE,
    )
    # what an input is read from is no content, but whether it is known before is
    first = NetworkProblem(
        workload=Workload.of(named(FIRST, "first"), SECOND, name="net"), accelerator=MACHINE
    )
    plan, seen = (SearchPlan.of(with_loma(lpf_limit=4)), Seen())
    explore_network(first, plan, store=store)
    total = explore_network(other, plan, store=store, progress=seen).total
    assert total == explore_network(other, plan).total
    assert set(seen.evaluated) == {"third"}
    assert set(seen.recalled) == {"mine"}


CHANGES: Final[dict[str, tuple[SearchPlan, SearchPlan]]] = {
    "lpf_limit": (SearchPlan.of(with_loma(lpf_limit=4)), SearchPlan.of(with_loma(lpf_limit=3))),
    "no limit": (SearchPlan.of(with_loma(lpf_limit=4)), SearchPlan.of(with_loma(lpf_limit=None))),
    "even": (
        SearchPlan.of(with_loma(lpf_limit=4)),
        SearchPlan.of(with_loma(lpf_limit=4, mapping_type="even")),
    ),
    "search": (SearchPlan.of(with_loma(lpf_limit=4)), salsa()),
    "seed": (salsa(seed=3), salsa(seed=4)),
    "iterations": (salsa(), salsa(iterations=61)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_way_of_searching_searches_again(name: str, store: Store) -> None:
    before, after = CHANGES[name]
    explore_network(PROBLEM, before, store=store)
    seen = Seen()
    total = explore_network(PROBLEM, after, store=store, progress=seen).total
    assert total == explore_network(PROBLEM, after).total
    assert set(seen.evaluated) == {"first", "second"}
    assert not seen.recalled


def test_what_does_not_matter_to_a_search_does_not_search_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    explore_network(PROBLEM, SearchPlan.of(with_loma(lpf_limit=4, workers=1)), store=store)
    renamed = Workload.of(
        copy_with(FIRST, {"name": "a"}), copy_with(SECOND, {"name": "b"}), name="other"
    )
    forbid(monkeypatch, *SEARCHING, COSTING)
    other = NetworkProblem(workload=renamed, accelerator=MACHINE)
    total = explore_network(
        other, SearchPlan.of(with_loma(lpf_limit=4, workers=2)), store=store
    ).total
    assert [result.cme.layer for result in total.layers] == ["a", "b"]


def test_more_spatial_mappings_search_only_the_new_ones(store: Store) -> None:
    few, many = (
        SearchPlan.of(with_loma(lpf_limit=3)),
        SearchPlan.of(SearchOptions(search="loma", lpf_limit=3, spatial_mappings=5)),
    )
    explore_network(PROBLEM, few, store=store)
    seen = Seen()
    total = explore_network(PROBLEM, many, store=store, progress=seen).total
    assert total == explore_network(PROBLEM, many).total
    assert len(seen.recalled) == 6  # three of each layer
    assert set(seen.evaluated) == {"first", "second"}
