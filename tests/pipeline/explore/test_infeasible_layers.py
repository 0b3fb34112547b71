"""Layers for which a search finds no mapping: the others are explored, shown and stored."""

from pathlib import Path
from typing import Final

import pytest

from nestmap import InfeasibleWarning, conv2d, network
from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    InfeasibleError,
    LayerConstraints,
    MappingConstraints,
    Workload,
    layer_from_equation,
)
from nestmap.pipeline.cli.evaluate import temporal_mapping
from nestmap.pipeline.explore.api import explore, explore_front, read_network
from nestmap.pipeline.explore.options import SearchName, SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.render.notebook.network import network_html
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.network import infeasible_notes, totals
from nestmap.pipeline.render.text.plain_table import table_lines
from nestmap.store import RunStatus, Store
from tests.costmodel.machines import machine, mapped, memory
from tests.counting import by_reference
from tests.pipeline.stages.kinds import SEARCHING, forbid

EVERYWHERE: Final = "D1 D2 D3 D4"
UNIT: Final = "D3 D4"


def simba_like() -> Accelerator:
    """4 x 4 units of 8 x 8, each with an input buffer of 8 KiB; they share one of 64 KiB."""
    return machine(
        memory("registers", 512, "I2"),
        memory("sums", 6144, "O", UNIT, width=192),
        memory("weight_buffer", 2**18, "I2", UNIT, width=64),
        memory("input_buffer", 8 * 8192, "I1", UNIT, width=64),
        memory("shared", 8 * 65536, "I1 O", EVERYWHERE, width=256),
        memory("dram", 2**40, "I1 I2 O", EVERYWHERE, width=64),
        sides={"D1": 4, "D2": 4, "D3": 8, "D4": 8},
    )


SQUEEZE: Final = conv2d("n18", (1, 128, 27, 27), (32, 128, 1, 1))
"""Layer n18 of SqueezeNet."""

SMALL: Final = conv2d("small", (1, 16, 8, 8), (32, 16, 1, 1))
UNROLLED: Final = mapped(
    SQUEEZE, simba_like(), {"D1": "OX 4", "D2": "OY 4", "D3": "K 8", "D4": "C 8"}
)
FIXED: Final = MappingConstraints(
    entries=(LayerConstraints(spatial_mapping=UNROLLED.spatial_mapping),)
)
BOTH: Final = network("both", SMALL, SQUEEZE)
REPEATED: Final = Workload(
    name="repeated",
    nodes=(*BOTH.nodes, *network("again", conv2d("n19", (1, 128, 27, 27), (32, 128, 1, 1))).nodes),
)
GREEDY: Final = (
    "layer n18: the memory allocation of this search found no place for any loop order on machine: "
    "shared too small for I: needs at least 746496 bit, has 524288 (180 orders); "
    "the exact search (--search exact) tries all allocations"
)


@pytest.mark.parametrize("lpf_limit", [6, 7, 8])
def test_loma_says_that_its_allocation_finds_no_place(lpf_limit: int) -> None:
    with pytest.raises(InfeasibleError, match=r"allocation .* no place .* \(--search exact\)"):
        explore(SQUEEZE, simba_like(), FIXED, search="loma", lpf_limit=lpf_limit)


def test_salsa_says_that_its_allocation_finds_no_place() -> None:
    with pytest.raises(InfeasibleError, match=r"allocation .* no place .* \(--search exact\)"):
        explore(SQUEEZE, simba_like(), FIXED, search="salsa")


def test_the_exact_search_finds_what_loma_does_not() -> None:
    cuts = ("O=3,4,4", "W=0,3,4", "I=3,3,4")
    mapping = temporal_mapping(UNROLLED, "OX 7, K 4, C 16, OY 7", cuts)
    by_hand = evaluate(by_reference(UNROLLED), mapping)
    found = explore(SQUEEZE, simba_like(), FIXED, reference=True)
    assert found.infeasible == ()
    assert found.latency <= by_hand.latency < 9583
    exact = explore(SQUEEZE, simba_like(), FIXED)
    assert by_hand.latency < exact.latency <= evaluate(UNROLLED, mapping).latency


@pytest.mark.parametrize("search", ["loma", "salsa"])
def test_the_other_layers_are_explored(search: SearchName) -> None:
    with pytest.warns(InfeasibleWarning, match="without 1 of its layers: layer n18: "):
        found = explore(BOTH, simba_like(), FIXED, search=search)
    alone = explore(SMALL, simba_like(), FIXED, search=search)
    assert [x.cme.layer for x in found.layers] == ["small"]
    assert (found.energy, found.latency) == (alone.energy, alone.latency)
    (failed,) = found.infeasible
    assert (failed.layer, failed.operator, failed.greedy) == ("n18", "Conv", True)
    assert [x.reason for x in failed.causes] == [
        "shared too small for I: needs at least 746496 bit, has 524288"
    ]
    assert "layers, without 1 of them" in repr(found)


def test_the_exact_search_leaves_nothing_to_try() -> None:
    narrow, wide = (
        layer_from_equation(
            "O[k]+=W[k][c]*I[c]", {"K": 4, "C": 4}, name=name, precision={"W": bits}
        )
        for name, bits in (("narrow", 8), ("wide", 16))
    )
    tiny = machine(memory("register", 8, "I2"), memory("top"))
    with pytest.warns(InfeasibleWarning):
        found = explore(network("both", narrow, wide), tiny)
    assert [x.cme.layer for x in found.layers] == ["narrow"]
    (failed,) = found.infeasible
    assert failed.message.startswith(
        "layer wide: no loop order fits machine: "
        "register too small for W: needs at least 16 bit, has 8 ("
    )
    with pytest.raises(InfeasibleError, match="layer wide: no loop order fits machine: "):
        explore(network("alone", wide), tiny)


def test_fronts_of_the_other_layers_are_found() -> None:
    plan = SearchPlan.of(SearchOptions(search="loma"))
    found = explore_front(read_network(BOTH, simba_like(), FIXED), plan)
    assert [x.layer for x in found.front.layers] == ["small"]
    assert [x.message for x in found.infeasible] == [GREEDY]


@pytest.mark.filterwarnings("ignore:repeated without:nestmap.InfeasibleWarning")
def test_equal_layers_repeat_the_reason() -> None:
    first, second = explore(REPEATED, simba_like(), FIXED, search="loma").infeasible
    assert (first.layer, first.repeats) == ("n18", None)
    assert (second.layer, second.repeats) == ("n19", "n18")
    assert second.causes == first.causes


@pytest.mark.filterwarnings("ignore:repeated without:nestmap.InfeasibleWarning")
def test_the_store_has_the_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path / "runs.duckdb") as store:
        found = explore(REPEATED, simba_like(), FIXED, search="loma", store=store)
        forbid(monkeypatch, *SEARCHING)
        again = explore(REPEATED, simba_like(), FIXED, search="loma", store=store)
        for explored in (found, again):
            assert explored.total == found.total
            assert store.best(explored.run) == found.total
            assert store.run(explored.run).status is RunStatus.DONE
        told = store.query(
            "SELECT outcome FROM outcomes WHERE run = ? AND layer = 'n18'", [str(found.run)]
        )
        assert {row["outcome"] for row in told.rows()} == {
            "shared too small for I: needs at least 746496 bit, has 524288"
        }


@pytest.mark.filterwarnings("ignore:repeated without:nestmap.InfeasibleWarning")
def test_tables_and_totals_say_what_is_left_out() -> None:
    total = explore(REPEATED, simba_like(), FIXED, search="loma").total
    lines = [line.text for line in table_lines(layer_table(total, REPEATED.layers))]
    (row,) = [line for line in lines if line.startswith("n18 ")]
    assert "no mapping fits" in row
    assert lines[-1].startswith("total without 2 of 3 ")
    assert totals(total).startswith("Total without 2 of 3 layers (n18, n19): energy ")
    assert infeasible_notes(total.infeasible) == [f"No mapping fits: {GREEDY}."]
    assert "total without 2 of 3" in network_html(total)
