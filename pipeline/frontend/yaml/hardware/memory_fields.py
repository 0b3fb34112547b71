"""The fields of a memory, and of its ports."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, WithJsonSchema

from nestmap.model import Movement, PortKind
from nestmap.model.hardware.memory import BITMASK, MOST_RUN_BITS, RUN_LENGTH
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, KEY, Form, Forms, Need, Origin, one_of
from nestmap.pipeline.frontend.yaml.file_model import (
    Area,
    ArrayDimensions,
    Energy,
    FileModel,
    Name,
    Operands,
    Power,
    Rate,
    Switch,
    Technology,
    Text,
    Whole,
    Written,
)

DEFAULT_TECHNOLOGY: Final = 22.0
"""The default technology node in nm, the one of ZigZag's own cost extraction."""

DEFAULT_DRAM: Final = "ddr4"
"""The preset for memories that are only described as DRAM."""


class MemoryKind(StrEnum):
    """The type of a memory, the field ``mem_type``."""

    SRAM = "sram"
    RF = "rf"
    DRAM = "dram"


USE: Final = f"an operand and a movement ({', '.join(Movement)}) such as 'I1, tl'"

_MODELS: Final = (
    *("fitted", "cacti"),
    *("ddr4", "lpddr4", "lpddr5", "hbm2", "hbm2e", "hbm3", "gddr6"),
)
_NOTHING: Final = "`0`, or the computed value"
_ACCESS: Final = Written(
    example="0.021",
    otherwise="unless `cost` or `auto_cost_extraction` computes it",
    need=Need.CONDITIONAL,
)
_SIZE: Final = "a positive number of bits"


COMPRESSION: Final = Forms(
    "Compression",
    "By operand. A tensor that its format would make larger is stored as it is, and so are partial "
    "sums: see [Compressed tensors](cost-model.md#compressed-tensors).",
    (
        Form("I1: bitmask", "a bit for each element, and the elements that are not zero"),
        Form("I1: run_length 5", "before each element the number of zeros before it, in 5 bit"),
    ),
)

MOVEMENTS: Final = Forms(
    "Movements of a port",
    "Each item is an operand of the memory and a movement, from the memory's point of view.",
    (
        Form('"O, tl"', "*to low*: read towards the array"),
        Form('"O, fl"', "*from low*: written from the array; outputs only"),
        Form('"O, th"', "*to high*: read towards outer memories; outputs only"),
        Form('"O, fh"', "*from high*: written from outer memories"),
    ),
)


class PortFields(FileModel, frozen=True, title="Port"):
    """Every movement that the hierarchy needs must be assigned to a port of the memory."""

    at = ("memories", KEY, "ports", ITEM)

    name: Annotated[Text, Written("the name of the port", "r_port_1")]
    """The name of the port in reports."""
    type: Annotated[PortKind, Written(example="read_write")]
    """The accesses that the port supports."""
    bandwidth_min: Annotated[Rate, Written(example="64")]
    """The granularity of transfers: each takes a whole multiple of it."""
    bandwidth_max: Annotated[Rate, Written(example="512")]
    """Bits per cycle, at least `bandwidth_min`; `r_cost` and `w_cost` are for this many bits."""
    allocation: Annotated[
        tuple[Annotated[Text, Written(USE)], ...],
        Written(f"a list, each item {USE}", '["I1, tl", "I2, tl", "O, tl", "O, th"]'),
        MOVEMENTS,
    ]
    """The data movements through the port: see [movements](#movements-of-a-port)."""


class MemoryFields(FileModel, frozen=True, title="Memory"):
    """The key is the name of the memory.

    Memories are listed innermost first: of two memories that hold the same operand, the first is
    closer to the array. `r_cost` and `w_cost` state the cost of an access, or it is computed: see
    [What memories cost](memory-costs.md).
    """

    at = ("memories", KEY)

    size: Annotated[Whole, Field(ge=1), Written(_SIZE, "2097152")]
    """Capacity of one instance."""
    operands: Annotated[Operands, Written("a list of memory operands such as I1", "[I1, I2, O]")]
    """The operands that the memory holds; `O` is the outputs, all others are inputs."""
    ports: Annotated[tuple[PortFields, ...], Written("a list of ports")]
    """Its [ports](#port)."""
    served_dimensions: Annotated[ArrayDimensions, Written(example="[D1, D2]")]
    """The array dimensions along which units share one instance; along all others each unit has its
    own."""
    latency: Annotated[Whole, Written("a number of cycles, not negative", "2")] = 1
    """Latency of an access; shown but not counted: transfer times follow from port widths."""
    force_double_buffering: Annotated[Switch, Written(example="true")] = False
    """Whether the memory always holds two copies of a tile, which takes twice the capacity."""
    window_reuse: Annotated[Switch, Written(example="true", origin=Origin.NESTMAP)] = False
    """Whether the memory loads only what slides in when a loop moves a window of the inputs, as
    `OX` does over `FX`."""
    compression: Annotated[
        Mapping[Name, Text],
        Written(
            "formats by memory operand", "{I1: run_length 5, O: bitmask}", origin=Origin.NESTMAP
        ),
        COMPRESSION,
    ] = {}
    """The [formats](#compression) in which the memory stores operands; they save what
    `operand_density` of a layer says."""
    r_cost: Annotated[Energy | None, _ACCESS] = None
    """Energy of a read of a port's full width."""
    w_cost: Annotated[Energy | None, _ACCESS] = None
    """Energy of a write of a port's full width."""
    area: Annotated[Area | None, Written(example="0.02", otherwise=_NOTHING)] = None
    """Area of one instance."""
    leakage: Annotated[
        Power | None, Written(example="0.3", otherwise=_NOTHING, origin=Origin.NESTMAP)
    ] = None
    """Leakage power of one instance, used or not; counted with `static_energy: true`."""
    auto_cost_extraction: Annotated[
        Switch | None, Written(example="true", otherwise="`true` with `cost`, else `false`")
    ] = None
    """Whether costs are computed; replaces stated `r_cost`, `w_cost` and `area`."""
    mem_type: Annotated[
        Annotated[Text, WithJsonSchema({"enum": [*MemoryKind]})] | None,
        Written(one_of(MemoryKind), "sram", otherwise="any"),
    ] = None
    """The type of the memory; determines the default `cost` and the allowed ones."""
    cost: Annotated[
        Annotated[Text, WithJsonSchema({"enum": [*_MODELS]})] | None,
        Written(
            one_of(_MODELS),
            "fitted",
            otherwise=f"with `auto_cost_extraction: true`, `fitted`, or `{DEFAULT_DRAM}` for "
            "`mem_type: dram`; otherwise nothing is computed",
            origin=Origin.NESTMAP,
        ),
    ] = None
    """The model that computes the costs: nestmap's own fit, the program CACTI, or a DRAM standard.
    Unlike `auto_cost_extraction`, it does not replace stated values."""
    technology: Annotated[
        Technology | None,
        Written(
            example="28",
            otherwise=f"the `technology` of the accelerator, else {DEFAULT_TECHNOLOGY:g}; for the "
            "cells of an IMC array, the node of the array",
            origin=Origin.NESTMAP,
        ),
    ] = None
    """The technology node of the memory; only if its costs are computed, and not for DRAM."""


COMPRESSION_FORMAT: Final = (
    f"{BITMASK}, or {RUN_LENGTH} and the bits of a run (1 to {MOST_RUN_BITS}) such as "
    f"'{RUN_LENGTH} 5'"
)
