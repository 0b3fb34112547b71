"""IMC accelerators and layers on them, made in a line each, and strategies for them."""

from collections.abc import Mapping

from hypothesis import strategies as st

from nestmap.model import (
    Accelerator,
    ArraySide,
    ImcKind,
    InMemoryCompute,
    Layer,
    MemoryLevel,
    OperationalArray,
    SpatialProblem,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from tests.costmodel.machines import mapped, memory

MACRO = {"D1": 16, "D2": 32}


def analog(serial: int = 2, resolution: int = 6) -> InMemoryCompute:
    """An analog array of 8 x 8 bit."""
    return InMemoryCompute(
        kind=ImcKind.ANALOG,
        activation_precision=8,
        weight_precision=8,
        bit_serial_precision=serial,
        adc_resolution=resolution,
    )


def digital(serial: int = 2) -> InMemoryCompute:
    """A digital array of 8 x 8 bit."""
    return InMemoryCompute(
        kind=ImcKind.DIGITAL,
        activation_precision=8,
        weight_precision=8,
        bit_serial_precision=serial,
    )


def imc_machine(
    imc: InMemoryCompute, sizes: Mapping[str, int] | None = None, cells: MemoryLevel | None = None
) -> Accelerator:
    """An IMC array; without ``cells`` one weight behind each multiplier, cells without area."""
    sides = sizes or MACRO
    array = OperationalArray(
        sides=tuple(ArraySide(name=name, size=n) for name, n in sides.items()),
        unit_energy=0.0,
        imc=imc,
    )
    inner = cells or cells_of(imc.weight_precision)
    top = memory("dram", served=" ".join(sides), width=64)
    return Accelerator(name="imc", array=array, memories=(inner, top))


def cells_of(size: int, area: float = 0.0) -> MemoryLevel:
    """SRAM cells of so many bits behind each multiplier."""
    level = memory("cells", size=size, operands="I2")
    return copy_with(level, {"instance": copy_with(level.instance, {"area": area})})


def convolution(sizes: Mapping[str, int] | None = None) -> Layer:
    """A convolution in the plane of the figure; ``sizes`` differ from the usual ones."""
    usual = {"B": 1, "K": 16, "C": 8, "OY": 4, "OX": 4, "FY": 3, "FX": 3}
    return layer_from_equation(
        "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        usual | dict(sizes or {}),
        name="conv",
        relations=["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
    )


@st.composite
def arithmetic(draw: st.DrawFn) -> InMemoryCompute:
    """Both kinds; precisions up to 16 bit, converters of up to 10 bit."""
    activation = draw(st.sampled_from((1, 2, 4, 8, 16)))
    kind = draw(st.sampled_from(ImcKind))
    return InMemoryCompute(
        kind=kind,
        activation_precision=activation,
        weight_precision=draw(st.sampled_from((1, 2, 4, 8, 16))),
        bit_serial_precision=draw(
            st.sampled_from([b for b in (1, 2, 4, 8, 16) if b <= activation])
        ),
        adc_resolution=draw(st.integers(0, 10)) if kind is ImcKind.ANALOG else 0,
    )


def array_sizes() -> st.SearchStrategy[dict[str, int]]:
    """Columns, rows (a power of two) and banks that :func:`on_array` has room for."""
    return st.fixed_dictionaries(
        {
            "D1": st.integers(4, 40),
            "D2": st.integers(4, 8).map(lambda power: 2**power),
            "D3": st.integers(1, 3),
        }
    )


@st.composite
def unrollings(draw: st.DrawFn) -> dict[str, str]:
    """A convolution's loops on columns and rows; with OX on columns it is diagonal."""
    columns = draw(st.sampled_from(("K 4", "K 3", "K 2 OX 2", "OX 4", "K 1")))
    rows = draw(st.sampled_from(("C 8", "C 5", "C 4 FX 3", "FX 3 FY 2", "C 1")))
    return {"D1": columns, "D2": rows}


def on_array(
    imc: InMemoryCompute, sizes: Mapping[str, int], unrolled: Mapping[str, str]
) -> SpatialProblem:
    """The convolution on an array."""
    return mapped(convolution(), imc_machine(imc, sizes), unrolled)
