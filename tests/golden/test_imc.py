"""Arrays that compute in memory: area, clock, energy and peak figures zigzag-dse 3.9.1 gave."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from nestmap.costmodel.imc.array import (
    array_areas,
    array_delays,
    clock_period,
    peak_energies,
    peak_performance,
)
from nestmap.costmodel.imc.layer import array_energies
from nestmap.model import (
    Accelerator,
    ArrayPart,
    Frozen,
    ImcKind,
    InMemoryCompute,
    layer_from_equation,
)
from tests.costmodel.imc.machines import cells_of, imc_machine
from tests.costmodel.machines import mapped
from tests.counting import by_reference

RELATIVE = 1e-12

Figures = dict[ArrayPart, float]


class RecordedCells(Frozen, frozen=True):
    size: int
    area: float


class RecordedMachine(Frozen, frozen=True):
    kind: ImcKind
    activation_precision: int
    weight_precision: int
    bit_serial_precision: int
    adc_resolution: int
    sizes: dict[str, int]
    cells: RecordedCells

    @property
    def accelerator(self) -> Accelerator:
        imc = InMemoryCompute(
            kind=self.kind,
            activation_precision=self.activation_precision,
            weight_precision=self.weight_precision,
            bit_serial_precision=self.bit_serial_precision,
            adc_resolution=self.adc_resolution,
        )
        return imc_machine(imc, self.sizes, cells_of(self.cells.size, self.cells.area))


class RecordedArray(Frozen, frozen=True):
    name: str
    array: RecordedMachine
    areas: Figures
    delays: Figures
    energies: Figures
    clock_period: float
    tops: float
    tops_per_watt: float
    tops_per_mm2: float


class RecordedLayer(Frozen, frozen=True):
    name: str
    array: RecordedMachine
    equation: str
    sizes: dict[str, int]
    unrolled: dict[str, str]
    energies: Figures


class Recorded(Frozen, frozen=True):
    source: str
    arrays: tuple[RecordedArray, ...]
    layers: tuple[RecordedLayer, ...]


RECORDED = TypeAdapter(Recorded).validate_json((Path(__file__).parent / "imc.json").read_text())


@pytest.mark.parametrize("array", RECORDED.arrays, ids=lambda array: array.name)
def test_array_equals_the_recorded_one(array: RecordedArray) -> None:
    accelerator = array.array.accelerator
    areas = {ArrayPart(entry.part): entry.area for entry in array_areas(accelerator)}
    energies = {entry.part: entry.energy for entry in peak_energies(accelerator)}
    assert areas == pytest.approx(array.areas, rel=RELATIVE)
    assert array_delays(accelerator) == pytest.approx(array.delays, rel=RELATIVE)
    assert energies == pytest.approx(array.energies, rel=RELATIVE)
    assert clock_period(accelerator) == pytest.approx(array.clock_period, rel=RELATIVE)
    peak = peak_performance(accelerator)
    assert peak.tops == pytest.approx(array.tops, rel=RELATIVE)
    assert peak.tops_per_watt == pytest.approx(array.tops_per_watt, rel=RELATIVE)
    assert peak.tops_per_mm2 == pytest.approx(array.tops_per_mm2, rel=RELATIVE)


@pytest.mark.parametrize("layer", RECORDED.layers, ids=lambda layer: layer.name)
def test_layer_takes_the_recorded_energy(layer: RecordedLayer) -> None:
    relations = ["ix=1*ox+1*fx", "iy=1*oy+1*fy"] if "[ix]" in layer.equation else []
    nest = layer_from_equation(layer.equation, layer.sizes, name="layer", relations=relations)
    spatial = by_reference(mapped(nest, layer.array.accelerator, layer.unrolled))
    energies = {entry.part: entry.energy for entry in array_energies(spatial)}
    assert energies == pytest.approx(layer.energies, rel=RELATIVE)
