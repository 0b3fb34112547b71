"""DRAM: linear in width, every preset with a source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.memory_cost.dram import DRAM_ENERGIES, DramPreset, dram_cost
from nestmap.model import MemoryCost

PRESETS = st.sampled_from(DramPreset)


@given(preset=PRESETS, width=st.integers(1, 1 << 14), times=st.integers(1, 64))
def test_energy_is_linear_in_width(preset: DramPreset, width: int, times: int) -> None:
    once, often = dram_cost(preset, width), dram_cost(preset, width * times)
    assert often.read_energy == pytest.approx(once.read_energy * times, rel=1e-12)
    assert often.write_energy == pytest.approx(once.write_energy * times, rel=1e-12)


def test_hbm2_takes_what_was_published() -> None:
    expected = MemoryCost(read_energy=3.92 * 1024, write_energy=3.92 * 1024, area=0.0, leakage=0.0)
    assert dram_cost(DramPreset.HBM2, 1024) == expected


@pytest.mark.parametrize("preset", DramPreset)
def test_each_preset_has_a_source_and_lies_in_its_published_range(preset: DramPreset) -> None:
    energy = DRAM_ENERGIES[preset]
    assert energy.source
    assert 0 < energy.least <= energy.read <= energy.most
    assert energy.least <= energy.write <= energy.most


def test_stacked_memory_takes_less_than_a_module() -> None:
    read = {preset: dram_cost(preset, 64).read_energy for preset in DramPreset}
    stacked = max(read[DramPreset.HBM2], read[DramPreset.HBM2E], read[DramPreset.HBM3])
    assert stacked < read[DramPreset.LPDDR5] < read[DramPreset.GDDR6] < read[DramPreset.DDR4]


@pytest.mark.parametrize("width", [0, -8])
def test_no_width_is_refused(width: int) -> None:
    with pytest.raises(ValueError, match=f"width {width}; expected a positive number"):
        dram_cost(DramPreset.DDR4, width)
