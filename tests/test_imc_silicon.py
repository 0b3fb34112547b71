"""The table of published IMC macros: what docs/imc.md shows is what nestmap says today."""

from pathlib import Path

import pytest
from benchmarks.imc_silicon import (
    BEGIN,
    CHIPS,
    DOCUMENT,
    END,
    Chip,
    accelerator_of,
    conversions_per_operation,
    converter_energy,
    table,
)

from nestmap.costmodel.imc.array import peak_performance
from nestmap.pipeline.frontend.bundled import resolve_accelerator
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator

BY_NAME = {chip.name: chip for chip in CHIPS}


def test_the_document_has_the_table_of_today() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == table()


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_macros_are_described_completely(chip: Chip) -> None:
    accelerator = accelerator_of(chip)
    assert accelerator.array.units * accelerator.cells.instance.size == chip.bits
    assert accelerator.cells.instance.area > 0


@pytest.mark.parametrize(
    ("name", "kilobits"), [("AIMC1", 1024), ("AIMC2", 384), ("DIMC2", 32), ("DIMC3", 64)]
)
def test_capacities_are_those_of_the_papers(name: str, kilobits: int) -> None:
    assert BY_NAME[name].bits == kilobits * 1024


def test_density_of_a_title() -> None:
    chip = BY_NAME["DIMC2"]  # 1.041 Mb/mm2; its area is reported with one digit
    assert chip.bits / 2**20 / chip.reported.area == pytest.approx(1.041, rel=2e-3)


def test_the_example_in_the_document_is_the_bundled_array(tmp_path: Path) -> None:
    example = DOCUMENT.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    bundled = resolve_accelerator("aimc").read_text(encoding="utf-8")
    head, memories = bundled.partition("operational_array:")[0], bundled.partition("memories:")[2]
    file = tmp_path / "aimc.yaml"
    file.write_text(f"{head}{example}memories:{memories}", encoding="utf-8")
    assert parse_accelerator(file) == parse_accelerator(resolve_accelerator("aimc"))


def test_converters_alone_take_more_than_aimc2_reports() -> None:
    chip = BY_NAME["AIMC2"]
    reported = 1 / chip.reported.tops_per_watt
    assert conversions_per_operation(chip) == 1.0
    assert converter_energy(chip) == pytest.approx(6.1 * reported, rel=0.01)
    modelled = 1 / peak_performance(accelerator_of(chip)).tops_per_watt
    assert converter_energy(chip) == pytest.approx(0.87 * modelled, rel=0.01)
    assert modelled - converter_energy(chip) == pytest.approx(0.89 * reported, rel=0.01)


def test_converters_of_aimc1_are_shared_by_many_rows() -> None:
    chip = BY_NAME["AIMC1"]
    assert conversions_per_operation(chip) == pytest.approx(1e-3, rel=0.03)
    assert converter_energy(chip) < 0.45 / chip.reported.tops_per_watt
