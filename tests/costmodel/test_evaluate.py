"""Whole evaluations worked out by hand."""

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import CostModelEvaluation, Counting, MappingBatch, MemoryLevel
from nestmap.model.base import copy_with
from tests.costmodel.machines import (
    READ_ENERGY,
    UNIT_ENERGY,
    WRITE_ENERGY,
    machine,
    mapped,
    matmul,
    memory,
    ordered,
)
from tests.counting import by_reference
from tests.properties.variants import with_accelerator


def accesses(cme: CostModelEvaluation, operand: str, level: int) -> tuple[int, int, int, int]:
    return cme.level(operand, level).costs.accesses


def test_one_memory() -> None:
    spatial = by_reference(mapped(matmul(k=4, c=2), machine(memory("m", served="D1"))))
    cme = evaluate(spatial, ordered("C 2 K 4", dict.fromkeys("OWI", (2,))))
    # 8 cycles; inputs are new in each, a partial sum of 16 bit goes in and out in two words
    assert accesses(cme, "W", 0) == (8, 0, 0, 0)
    assert accesses(cme, "I", 0) == (8, 0, 0, 0)
    assert accesses(cme, "O", 0) == (16, 16, 0, 0)
    assert cme.memory_energy == 32 * READ_ENERGY + 16 * WRITE_ENERGY
    assert cme.mac_energy == 8 * UNIT_ENERGY
    # The first transfer is free, and 7 follow. Those of the output need 2 cycles each way and may
    # take 1; besides, both want the same cycles: 2 * 7 windows in the 8 cycles that there are.
    stalls = {port.port: port.stall for port in cme.port_stalls}
    assert stalls == {"port_I1": 0, "port_I2": 0, "port_O": 2 * 7 + (2 * 7 - 8)}
    assert (cme.ideal_cycles, cme.ideal_temporal_cycles) == (8, 8)
    assert (cme.latency0, cme.latency1, cme.latency2) == (28, 28, 28)
    assert cme.utilization == 8 / 28
    # the port of the output moves two words each way in each of 8 cycles
    assert (
        evaluate(
            with_accelerator(spatial, spatial.accelerator.counted(Counting.EXACT)),
            cme.temporal_mapping,
        ).latency
        == 2 * 2 * 8
    )


def test_inputs_that_stay_are_loaded_once() -> None:
    spatial = mapped(
        matmul(k=4, c=2),
        machine(memory("register", operands="I1", served="D1"), memory("m", served="D1", width=4)),
    )
    cme = evaluate(by_reference(spatial), ordered("C 2 K 4", {"O": (2,), "W": (2,), "I": (1, 2)}))
    assert accesses(cme, "I", 0) == (8, 0, 0, 2)
    assert accesses(cme, "I", 1) == (4, 0, 0, 0)
    assert accesses(cme, "W", 0) == (16, 0, 0, 0)
    assert accesses(cme, "O", 0) == (32, 32, 0, 0)
    assert cme.memory_energy == 60 * READ_ENERGY + 34 * WRITE_ENERGY
    assert cme.stall == 2 * (4 - 1) * 7 + (2 * 7 - 8)
    # 16 bit at 4 bit a cycle, needed before the first operation: nothing hides it
    assert (cme.onloading, cme.offloading, cme.drain) == (4, 0, 0)
    assert cme.latency2 == 8 + 48 + 4


@pytest.mark.parametrize(
    ("narrow", "wide", "reads"),
    [
        (8, 8, 8),
        (4, 8, 8),
        (12, 12, 8),  # 8 bit take one word of 12
        (3, 3, 8 * 3),  # or three of 3
        (16, 64, 2),  # a quarter of a full word each
        (3, 12, 6),  # three quarters of one
        (16, 48, 3),  # a third each: 8/3, filled up to whole words at the end
    ],
)
def test_words_are_filled_up_to_the_minimal_width(narrow: int, wide: int, reads: int) -> None:
    level = memory("m", served="D1")
    ports = [copy_with(x, {"width_min": narrow, "width_max": wide}) for x in level.instance.ports]
    level = copy_with(level, {"instance": copy_with(level.instance, {"ports": tuple(ports)})})
    spatial = mapped(matmul(k=4, c=2), machine(level))
    cme = evaluate(spatial, ordered("C 2 K 4", dict.fromkeys("OWI", (2,))))
    assert accesses(cme, "W", 0) == (reads, 0, 0, 0)


def with_common_input_port(level: MemoryLevel, width: int) -> MemoryLevel:
    """One port of that width for both inputs instead of one each."""
    first, second, output = level.instance.ports
    common = copy_with(
        first,
        {
            "name": "inputs",
            "width_min": width,
            "width_max": width,
            "allocation": first.allocation + second.allocation,
        },
    )
    return copy_with(level, {"instance": copy_with(level.instance, {"ports": (common, output)})})


def test_loading_hides_in_what_a_port_has_to_spare() -> None:
    register = memory("register", operands="I1", width=64)
    top = with_common_input_port(memory("top", served="D1", width=16), width=160)
    spatial = mapped(matmul(k=1, c=128), machine(register, top, sides={"D1": 16}), {"D1": "C 16"})
    cme = evaluate(spatial, ordered("C 8", {"O": (1,), "W": (1,), "I": (1, 1)}))
    # partial sums of 16 bit go in and out through one port: 2 * 7 windows in 8 cycles
    assert cme.stall == 2 * 7 - 8
    # 16 weights of 8 bit a cycle leave a fifth of the port; all 128 inputs need 7 of its cycles
    assert cme.onloading == pytest.approx(7 - (8 + 6) * 0.2)


def test_loading_cannot_hide_what_is_needed_first() -> None:
    register = memory("register", operands="I1", width=64)
    top = memory("top", served="D1", width=32)
    spatial = mapped(matmul(k=64, c=16), machine(register, top, sides={"D1": 16}), {"D1": "C 16"})
    cme = evaluate(spatial, ordered("K 64", {"O": (1,), "W": (1,), "I": (0, 1)}))
    # 16 inputs of 8 bit take 4 cycles, and there is time enough; but for the first one of 1 cycle
    assert cme.onloading == 1


def test_irrelevant_loops_at_the_bottom_keep_data_at_the_array() -> None:
    spatial = mapped(matmul(k=4, c=2, b=3), machine(memory("m", served="D1")))
    cme = evaluate(spatial, ordered("B 3 C 2 K 4", dict.fromkeys("OWI", (3,))))
    # a weight serves 3 batches
    assert accesses(cme, "W", 0)[0] == 8
    assert accesses(cme, "I", 0)[0] == 24


def test_a_finished_output_is_written_in_its_final_precision() -> None:
    spatial = mapped(matmul(k=4, c=1), machine(memory("m", served="D1")))
    cme = evaluate(spatial, ordered("K 4", dict.fromkeys("OWI", (1,))))
    assert accesses(cme, "O", 0) == (0, 4, 0, 0)


def test_reduction_over_units_needs_no_partial_sums_in_time() -> None:
    spatial = mapped(
        matmul(k=4, c=2), machine(memory("m", served="D1"), sides={"D1": 2}), {"D1": "C 2"}
    )
    cme = evaluate(spatial, ordered("K 4", dict.fromkeys("OWI", (1,))))
    assert accesses(cme, "O", 0) == (0, 4, 0, 0)
    assert accesses(cme, "W", 0)[0] == 8
    assert cme.ideal_cycles == 4


@pytest.mark.parametrize(("systolic", "drain"), [((), 0), (("D1",), 3), (("D1", "D2"), 3 + 1)])
def test_systolic_dimensions_drain(systolic: tuple[str, ...], drain: int) -> None:
    accelerator = machine(memory("m", served="D1 D2"), sides={"D1": 8, "D2": 8})
    array = copy_with(accelerator.array, {"systolic_dimensions": systolic})
    spatial = mapped(
        matmul(k=4, c=2), copy_with(accelerator, {"array": array}), {"D1": "K 4", "D2": "C 2"}
    )
    cme = evaluate(spatial, ordered("B 1", dict.fromkeys("OWI", (1,))))
    assert cme.drain == drain
    assert cme.latency2 == cme.latency1 + cme.offloading + drain


def test_ragged_unrollings_take_the_rounds_they_need() -> None:
    spatial = mapped(
        matmul(k=7, c=2), machine(memory("m", served="D1"), sides={"D1": 4}), {"D1": "K 4"}
    )
    cme = evaluate(spatial, ordered("K 2 C 2", dict.fromkeys("OWI", (2,))))
    assert cme.ideal_cycles == 4  # 14 operations on 4 units
    assert cme.ideal_temporal_cycles == 4
    assert cme.spatial_utilization == 1.0
    # each of 14 weights is read once; the reference rounds 3.5 units at work to 4
    assert accesses(cme, "W", 0)[0] == 7 * 2
    assert accesses(evaluate(by_reference(spatial), cme.temporal_mapping), "W", 0)[0] == 4 * 4


def test_area_counts_every_instance() -> None:
    accelerator = machine(memory("each"), memory("all", served="D1"), sides={"D1": 4})
    areas = {"each": 1.5, "all": 10.0}
    memories = tuple(
        copy_with(x, {"instance": copy_with(x.instance, {"area": areas[x.name]})})
        for x in accelerator.memories
    )
    array = copy_with(accelerator.array, {"unit_area": 0.25})
    other = copy_with(accelerator, {"memories": memories, "array": array})
    cme = evaluate(mapped(matmul(k=2, c=1), other), ordered("K 2", dict.fromkeys("OWI", (1, 1))))
    assert cme.area == 4 * 0.25 + 4 * 1.5 + 10.0


def test_an_empty_batch_costs_nothing() -> None:
    spatial = mapped(matmul(k=2, c=1), machine(memory("m", served="D1")))
    batch = MappingBatch.of(spatial, ordered("K 2", dict.fromkeys("OWI", (1,))))
    none = evaluate_batch(batch.take(np.array([], np.intp)))
    assert len(none) == 0
    assert none.statistics.evaluations == 0
