"""Published IMC macros beside nestmap's figures for them: area, clock, peak TOPS/mm2 and TOPS/W.

The macros are those that the authors of the model validated it against. Their README says how each
is described (arrays, precisions), the data files of their validation what is reported of it:
https://github.com/KULeuven-MICAS/zigzag-imc, folder ``imc_model_validation`` (2024). Where these
files leave a number open or contradict each other, ``Chip.note`` says what is taken and why.

``python -m benchmarks.imc_silicon`` prints the table, with ``--write`` puts it into docs/imc.md.
"""

import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from nestmap.costmodel.imc.array import array_areas, clock_period, peak_energies, peak_performance
from nestmap.costmodel.memory_cost.sram import fitted_cost
from nestmap.model import (
    IMC_CELLS,
    OUTPUT,
    Accelerator,
    ArrayPart,
    ArraySide,
    ImcKind,
    ImcSizes,
    InMemoryCompute,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
)
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import Bank

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "imc.md"
BEGIN: Final = "<!-- python -m benchmarks.imc_silicon --write -->"
END: Final = "<!-- end -->"


@final
@dataclass(frozen=True)
class Reported:
    """What a paper reports: mm2, ns, TOPS/W and, where somebody says it, TOPS.

    ``activity`` says under which input toggling and weight sparsity, ``active`` is the share of
    products of bits that toggle then, where both are known.
    """

    area: float
    clock: float
    tops_per_watt: float
    activity: str
    active: float | None = None
    tops: float | None = None


@final
@dataclass(frozen=True)
class Chip:
    """A macro as nestmap describes it: ``weights`` are those that share a multiplier."""

    name: str
    paper: str
    imc: InMemoryCompute
    columns: int
    rows: int
    banks: int
    weights: int
    reported: Reported
    note: str

    @property
    def bits(self) -> int:
        """Capacity in bits."""
        return self.columns * self.rows * self.banks * self.cell_bits

    @property
    def cell_bits(self) -> int:
        """Bits behind a multiplier."""
        return self.weights * self.imc.weight_precision


CHIPS: Final = (
    Chip(
        name="AIMC1",
        paper="I. A. Papistas et al., CICC 2021, A 22 nm, 1540 TOP/s/W, 12.1 TOP/s/mm2 in-memory "
        "analog matrix-vector-multiplier for DNN acceleration (IEEE 9431575)",
        imc=InMemoryCompute(
            kind=ImcKind.ANALOG,
            activation_precision=8,
            weight_precision=2,
            bit_serial_precision=8,
            adc_resolution=6,
            technology=22.0,
            supply_voltage=0.8,
        ),
        columns=512,
        rows=1024,
        banks=1,
        weights=1,
        reported=Reported(
            area=1.9425,
            clock=1000 / 22.5,
            tops_per_watt=1050,
            activity="all inputs toggle, no zeros in weights (assumed)",
            active=1.0,
            tops=12.1 * 1.9425,
        ),
        note="Activations have 7 bit, of which 8 is the next power of two: DACs take 8/7. The "
        "area has repeaters and decoupling capacitors, which are not modelled. 1050 TOPS/W is the "
        "figure of the validation, 1540 that of the title; TOPS/mm² is the title's.",
    ),
    Chip(
        name="AIMC2",
        paper="A 8-b-precision 6T SRAM computing-in-memory macro using segmented-bitline "
        "charge-sharing scheme for AI edge chips, IEEE JSSC 2023 (IEEE 9896828)",
        imc=InMemoryCompute(
            kind=ImcKind.ANALOG,
            activation_precision=8,
            weight_precision=8,
            bit_serial_precision=2,
            adc_resolution=5,
            technology=28.0,
            supply_voltage=0.9,
        ),
        columns=12,
        rows=16,
        banks=4,
        weights=64,
        reported=Reported(area=0.468, clock=7.2 / 2, tops_per_watt=15.02, activity="not known"),
        note="64 weights a multiplier make up the 384 kb of the paper; the README has 32 and one "
        "macro, beside columns that are multiplexed by two. 7.2 ns are a whole multiplication in "
        "the validation: two transfers of 4 bit, each as two halves of 2 bit side by side; a "
        "transfer is taken as a cycle. The paper pipelines; nestmap's clock is the sum of all "
        "parts.",
    ),
    Chip(
        name="DIMC1",
        paper="F. Tu et al., ISSCC 2022, A 28nm 29.2TFLOPS/W BF16 and 36.5TOPS/W INT8 "
        "reconfigurable digital CIM processor (IEEE 9731762)",
        imc=InMemoryCompute(
            kind=ImcKind.DIGITAL, activation_precision=8, weight_precision=8, bit_serial_precision=2
        ),
        columns=6,
        rows=32,
        banks=64,
        weights=1,
        reported=Reported(
            area=0.9408,
            clock=1000 / 195,
            tops_per_watt=36.63,
            activity="50 % of inputs toggle, 50 % zeros in weights",
            active=0.25,
            tops=6144 * 195e-6,
        ),
        note="Multiplies with Booth recoding, which is not modelled.",
    ),
    Chip(
        name="DIMC2",
        paper="B. Yan et al., ISSCC 2022, A 1.041-Mb/mm2 27.38-TOPS/W signed-INT8 "
        "dynamic-logic-based ADC-less SRAM compute-in-memory macro in 28nm (IEEE 9731545)",
        imc=InMemoryCompute(
            kind=ImcKind.DIGITAL, activation_precision=8, weight_precision=8, bit_serial_precision=1
        ),
        columns=1,
        rows=32,
        banks=2,
        weights=64,
        reported=Reported(
            area=0.03,
            clock=3.0,
            tops_per_watt=22,
            activity="50 % zeros in inputs, zeros in weights not known",
            tops=0.0054,
        ),
        note="64 weights a multiplier make up the title's 1.041 Mb/mm2 on the reported area (the "
        "README has 16). Dynamic logic and a pipeline, neither modelled. 22 TOPS/W is the average "
        "that the validation names and leaves out of its own comparison; 27.38 is the title's.",
    ),
    Chip(
        name="DIMC3",
        paper="A. Guo et al., ISSCC 2023, A 28nm 64-kb 31.6-TFLOPS/W digital-domain "
        "floating-point-computing-unit and double-bit 6T-SRAM CIM macro (IEEE 10067260)",
        imc=InMemoryCompute(
            kind=ImcKind.DIGITAL, activation_precision=8, weight_precision=8, bit_serial_precision=2
        ),
        columns=1,
        rows=128,
        banks=8,
        weights=8,
        reported=Reported(
            area=0.1462,
            clock=1000 / 182,
            tops_per_watt=19.5,
            activity="50 % zeros in inputs, 50 % in weights",
            active=0.25,
        ),
        note="INT8 figures. 128 rows with one weight of 8 bit side by side in each of 8 macros and "
        "8 weights a multiplier make up the title's 64 kb; read as 8 weights side by side the "
        "README's table would be 512 kb.",
    ),
    Chip(
        name="DIMC4",
        paper="J. Yue et al., ISSCC 2023, A 28nm 16.9-300TOPS/W computing-in-memory processor "
        "supporting floating-point NN inference/training (IEEE 10067779)",
        imc=InMemoryCompute(
            kind=ImcKind.DIGITAL, activation_precision=8, weight_precision=8, bit_serial_precision=1
        ),
        columns=8,
        rows=128,
        banks=4,
        weights=2,
        reported=Reported(
            area=0.269,
            clock=1000 / 400,
            tops_per_watt=275,
            activity="sparse; how sparse is not known",
        ),
        note="Made for sparse data, which is not modelled: the title's range is 16.9 to 300.",
    ),
)

LEFT_OUT: Final = (
    "AIMC3 (P. Chen et al., ISSCC 2023, 22 nm delta-sigma CIM macro, 21.38 TOPS/W, IEEE 10067289): "
    "the README has 64 rows at once, the data file 8 of 64, and neither says on how many "
    "converters a weight of 8 bit lies",
    "Y.-D. Chih et al., ISSCC 2021 (22 nm, 89 TOPS/W and 16.3 TOPS/mm2 by its title), C.-F. Lee et "
    "al., VLSI 2022 (12 nm, 121 TOPS/W and 41.6 TOPS/mm2): no source at hand for the array, the "
    "voltage and the conditions that these figures belong to",
    "H. Fujiwara et al., ISSCC 2022 (5 nm) and H. Mori et al., ISSCC 2023 (4 nm): below 7 nm, the "
    "smallest node that is known",
)


def main() -> None:
    """Prints the table, or writes it into the document."""
    if "--write" not in sys.argv:
        print(table())
        return
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


def table() -> str:
    """All macros in Markdown, how they are described, and which are left out."""
    lines = [
        "| bundled | area mm² | clock ns | TOPS | TOPS/W | TOPS/mm² |",
        "| --- |" + " --- |" * 5,
        *map(_bundled, ("aimc", "dimc")),
        "",
    ]
    figures = ("area mm²", "clock ns", "TOPS/mm²", "TOPS/W")
    head = "".join(f" {figure}: reported | ours | ratio |" for figure in figures)
    lines += [f"| macro |{head} at equal activity |", "| --- |" + " --- |" * 13]
    lines += [*map(_row, CHIPS), ""]
    lines += [
        "| macro | kind | node, supply | bits: activation, weight, a cycle, ADC | columns x rows x "
        "banks | weights a multiplier | capacity | activity of the reported TOPS/W |",
        "| --- |" + " --- |" * 7,
        *map(_description, CHIPS),
        "",
        "| analog | conversions an operation | pJ a conversion: ours | all energy reported "
        "| TOPS/W: ours | without converters | reported |",
        "| --- |" + " --- |" * 6,
        *map(_converters, (x for x in CHIPS if x.imc.kind is ImcKind.ANALOG)),
        "",
        *(f"- **{chip.name}**: {chip.paper}. {chip.note}" for chip in CHIPS),
        "",
        "Left out:",
        "",
        *(f"- {text}." for text in LEFT_OUT),
    ]
    return "\n".join(lines)


def accelerator_of(chip: Chip) -> Accelerator:
    """The macro with the memories that an accelerator needs; only the cells have an area."""
    sizes = (chip.columns, chip.rows, chip.banks)
    array = OperationalArray(
        sides=tuple(ArraySide(name=f"D{i}", size=n) for i, n in enumerate(sizes, 1)),
        unit_energy=0.0,
        imc=chip.imc,
    )
    top = _memory("top", 2**40, ("I1", "I2", OUTPUT), served=tuple(array.sizes))
    cells = _memory(IMC_CELLS, chip.cell_bits, ("I2",), area=_cell_area(chip))
    return Accelerator(name=chip.name, array=array, memories=(cells, top))


def _cell_area(chip: Chip) -> float:
    """mm2 of the SRAM behind a multiplier: its share of an SRAM as large as a bank."""
    sizes = ImcSizes(columns=chip.columns, rows=chip.rows, banks=chip.banks)
    bank = Bank(sizes, chip.imc)
    return bank.share(fitted_cost(bank.macro(chip.cell_bits, None)), chip.cell_bits).area


def _memory(
    name: str,
    size: int,
    operands: tuple[str, ...],
    *,
    served: tuple[str, ...] = (),
    area: float = 0.0,
) -> MemoryLevel:
    uses = tuple(PortUse(operand=x, movement=m) for x in operands for m in Movement)
    port = MemoryPort(
        name="rw", kind=PortKind.READ_WRITE, width_min=8, width_max=8, allocation=uses
    )
    instance = MemoryInstance(
        name=name, size=size, read_energy=0.0, write_energy=0.0, area=area, ports=(port,)
    )
    return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


def _bundled(name: str) -> str:
    accelerator = read_accelerator(name)
    peak = peak_performance(accelerator)
    area = sum(part.area for part in array_areas(accelerator))
    figures = (area, clock_period(accelerator), peak.tops, peak.tops_per_watt, peak.tops_per_mm2)
    return f"| {' | '.join((f'`{name}`', *map(_text, figures)))} |"


def _row(chip: Chip) -> str:
    accelerator, reported = accelerator_of(chip), chip.reported
    peak = peak_performance(accelerator)
    density = None if reported.tops is None else reported.tops / reported.area
    active = None if reported.active is None else reported.tops_per_watt * reported.active
    cells = (
        *_compared(reported.area, sum(part.area for part in array_areas(accelerator))),
        *_compared(reported.clock, clock_period(accelerator)),
        *_compared(density, peak.tops_per_mm2),
        *_compared(reported.tops_per_watt, peak.tops_per_watt),
        _compared(active, peak.tops_per_watt)[-1],
    )
    return f"| {' | '.join((chip.name, *cells))} |"


def _compared(theirs: float | None, ours: float) -> tuple[str, str, str]:
    """What is reported, what nestmap says, and the ratio of the second to the first."""
    if theirs is None:
        return "-", _text(ours), "-"
    return _text(theirs), _text(ours), f"{ours / theirs:.2f}"


def conversions_per_operation(chip: Chip) -> float:
    """Conversions an operation: one for each bit of a weight in each cycle, shared by the rows."""
    cycles = chip.imc.activation_precision / chip.imc.bit_serial_precision
    return chip.imc.weight_precision * cycles / (2 * chip.rows)


def converter_energy(chip: Chip) -> float:
    """The energy of the converters, in pJ an operation."""
    return _energy_per_operation(chip, (ArrayPart.ADCS,))


def _energy_per_operation(chip: Chip, parts: Collection[ArrayPart]) -> float:
    """The energy of some parts of the array, in pJ an operation."""
    accelerator = accelerator_of(chip)
    operations = 2 * accelerator.array.units / accelerator.array.operation_cycles
    return sum(x.energy for x in peak_energies(accelerator) if x.part in parts) / operations


def _converters(chip: Chip) -> str:
    """What converters take, beside the reported energy if all of it were theirs."""
    conversions, energy = conversions_per_operation(chip), converter_energy(chip)
    everything = _energy_per_operation(chip, tuple(ArrayPart))
    reported = chip.reported.tops_per_watt
    figures = (
        conversions,
        energy / conversions,
        1 / reported / conversions,
        1 / everything,
        1 / (everything - energy),
        reported,
    )
    return f"| {' | '.join((chip.name, *map(_text, figures)))} |"


def _description(chip: Chip) -> str:
    imc = chip.imc
    bits = (imc.activation_precision, imc.weight_precision, imc.bit_serial_precision)
    resolution = imc.adc_resolution or "-"
    return (
        f"| {chip.name} | {imc.kind} | {imc.technology:g} nm, {imc.supply_voltage:g} V "
        f"| {', '.join(map(str, bits))}, {resolution} "
        f"| {chip.columns} x {chip.rows} x {chip.banks} | {chip.weights} "
        f"| {chip.bits // 1024} kb | {chip.reported.activity} |"
    )


def _text(figure: float) -> str:
    """Three digits, without an exponent."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"


if __name__ == "__main__":
    main()
