"""Exact counting and the reference's, from the command line and Python to the store."""

from pathlib import Path
from typing import Final

import nestmap
from nestmap.model import Counting, Layer, layer_from_equation
from nestmap.store import Store
from nestmap.store.read.named_queries import Parameter
from tests.pipeline.cli.inputs import run
from tests.pipeline.sweep.spaces import write_space

WIDE: Final = layer_from_equation(
    "O[k][oy][ox] += W[k][c][fy][fx] * I[c][iy][ix]",
    {"K": 56, "C": 1, "OY": 550, "OX": 970, "FY": 5, "FX": 5},
    relations=["ix = ox + fx", "iy = oy + fy"],
    name="wide",
    operator="Conv",
)
"""Outputs that do not divide into 4 x 4 units: 29,876,000 bytes through a port of 8 bytes."""

OUTPUT_CYCLES: Final = 56 * 550 * 970 // 8
SMALL: Final = nestmap.conv2d("small", (1, 40, 13, 13), (40, 40, 3, 3))


def test_a_layer_takes_as_long_as_its_outputs_need() -> None:
    reference = nestmap.explore(WIDE, "meta_prototype", reference=True)
    assert reference.latency == 2_150_995 < OUTPUT_CYCLES == 3_734_500
    exact = nestmap.explore(WIDE, "meta_prototype")
    assert exact.latency >= OUTPUT_CYCLES
    assert exact.total.layers[0].cme.overloaded_port is None


def both(layer: Layer, store: Store) -> tuple[nestmap.Exploration, nestmap.Exploration]:
    """The layer in exact counting and in the reference's, in one store."""
    exact = nestmap.explore(layer, "tpu_like", store=store)
    return exact, nestmap.explore(layer, "tpu_like", store=store, reference=True)


def test_a_store_keeps_them_apart() -> None:
    with Store.open(None) as store:
        exact, reference = both(SMALL, store)
        again = both(SMALL, store)
        assert [x.total.layers for x in again] == [x.total.layers for x in (exact, reference)]
        assert exact.latency != reference.latency
        accelerators = [store.problem(x.run).accelerator for x in (exact, reference)]
        assert [x.counting for x in accelerators] == [Counting.EXACT, Counting.REFERENCE]
        asked = {Parameter.RUN: reference.run, Parameter.AGAINST: exact.run}
        settings = {row["setting"] for row in store.ask("settings", asked).rows()}
    assert "counting" in settings


def test_a_command_says_that_it_counts_as_the_reference() -> None:
    told = "Costs are counted as by ZigZag"
    command = ("explore", "light:squeezenet", "-a", "tpu_like", "--no-store")
    assert told not in run(*command).out
    ended = run(*command, "--reference", "--search", "loma", "--lpf-limit", "3")
    assert (ended.code, told in ended.out) == (0, True)


def test_runs_of_a_sweep_belong_to_its_designs(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    found = nestmap.sweep(write_space(tmp_path), store=path, reference=True)
    with Store.open_read_only(path) as store:
        machines = {store.problem(run.id).accelerator for run in store.runs()}
    assert {x.counting for x in machines} == {Counting.REFERENCE}
    assert {x.content_hash for x in machines} == {x.accelerator for x in found.front}
