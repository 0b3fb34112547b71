"""What the reference leaves out changes nothing that it computes: vector operators and units."""

from importlib.resources import files
from pathlib import Path

import pytest

from nestmap.model import Counting
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.plan import SearchPlan
from tests.loma import with_loma
from tests.vectors import with_unit

INPUTS = Path(str(files("zigzag") / "inputs"))

# Recorded in tests/golden/networks.json; there the machine has no vector unit.
RECORDED = (5602251175.856001, 8987189.0)


@pytest.mark.parametrize("lanes", [1, 1024])
def test_a_vector_unit_changes_no_recorded_figure(lanes: int) -> None:
    parts = ("workload/alexnet.onnx", "hardware/tpu_like.yaml", "mapping/tpu_like.yaml")
    network = read_network(*(INPUTS / part for part in parts))
    reference = network.accelerator.counted(Counting.REFERENCE)
    machine = with_unit(reference, lanes=lanes, memory="sram_2MB")
    plan = SearchPlan.of(with_loma(lpf_limit=3, keep_on_chip=False))
    found = explore_network(copy_with(network, {"accelerator": machine}), plan).total
    assert (found.energy, found.latency) == pytest.approx(RECORDED, rel=1e-9)
    assert found.vector
    counted = copy_with(found, {"vector_counted": True})
    assert counted.energy > found.energy
    assert counted.latency > found.latency
