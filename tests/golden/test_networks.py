"""Whole networks, from the files to the totals: equal to what zigzag-dse 3.9.1 recorded.

Each run took the reference between seconds and minutes; its accelerators, mappings and ONNX
networks are read from the installed package, the two YAML networks stand beside this file.
"""

from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import TypeAdapter

import nestmap
from nestmap.model import Frozen, SearchStatistics

HERE = Path(__file__).parent


class RecordedLayer(Frozen, frozen=True):
    name: str
    energy: float
    latency: float
    evaluations: int | None = None


class RecordedRun(Frozen, frozen=True):
    workload: str
    accelerator: str
    mapping: str
    lpf_limit: int
    mixed: bool = False
    keep_on_chip: bool = False
    energy: float
    latency: float
    layers: tuple[RecordedLayer, ...]

    def __str__(self) -> str:
        names = [Path(x).stem for x in (self.workload, self.accelerator)]
        flags = {"mixed": self.mixed, "on_chip": self.keep_on_chip}
        return "-".join([*names, *(name for name, wanted in flags.items() if wanted)])


class Recorded(Frozen, frozen=True):
    source: str
    runs: tuple[RecordedRun, ...]


RUNS = TypeAdapter(Recorded).validate_json((HERE / "networks.json").read_text()).runs


def _input(name: str) -> Path:
    beside = HERE / "workloads" / Path(name).name
    return beside if beside.exists() else Path(str(files("zigzag") / "inputs" / name))


def _candidates(statistics: SearchStatistics) -> int:
    return statistics.evaluations + sum(x.count for x in statistics.infeasible)


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_network_equals_the_recorded_one(run: RecordedRun) -> None:
    found = nestmap.explore(
        _input(run.workload),
        _input(run.accelerator),
        _input(run.mapping),
        search="loma",
        spatial_mappings=3,
        objective="latency",
        lpf_limit=run.lpf_limit,
        mixed=run.mixed,
        keep_on_chip=run.keep_on_chip,
        reference=True,
    )
    assert found.energy == pytest.approx(run.energy, rel=1e-9)
    assert found.latency == pytest.approx(run.latency, rel=1e-9)
    layers = {result.cme.layer: result for result in found.layers}
    assert set(layers) == {layer.name for layer in run.layers}
    for layer in run.layers:
        result = layers[layer.name]
        assert result.cme.energy == pytest.approx(layer.energy, rel=1e-9), layer.name
        assert result.cme.latency == pytest.approx(layer.latency, rel=1e-9), layer.name
        if result.repeats is None:  # else nothing was searched
            assert layer.evaluations in (None, _candidates(result.statistics)), layer.name
