"""Reads the memories of an accelerator description."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from nestmap.model import (
    IMC_CELLS,
    Compression,
    MemoryCost,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
)
from nestmap.model.errors import suggestion, warn_of_input
from nestmap.model.hardware.memory import BITMASK, MOST_RUN_BITS, RUN_LENGTH
from nestmap.pipeline.frontend.yaml.field_schema import (
    ITEM,
    KEY,
    Entries,
    Field,
    Form,
    Need,
    Origin,
    Section,
    one_of,
)
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import (
    COST_FIELDS,
    Bank,
    CostSources,
    MemoryDescription,
    memory_cost,
)
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import (
    ARRAY_DIMENSION,
    ARRAY_DIMENSIONS,
    RATE,
    SWITCH,
    rate,
)

# --- reads the formats in which a memory stores its operands ---

_FORMAT: Final = (
    f"{BITMASK}, or {RUN_LENGTH} and the bits of a run (1 to {MOST_RUN_BITS}) such as "
    f"'{RUN_LENGTH} 5'"
)

COMPRESSION_FIELD: Final = Field(
    "compression",
    "the [formats](#compression) in which the memory stores operands; they save what "
    "`operand_density` of a layer says",
    "formats by memory operand",
    "{I1: run_length 5, O: bitmask}",
    Need.OPTIONAL,
    default="{}",
    origin=Origin.NESTMAP,
)

COMPRESSION: Final = Entries(
    "Compression",
    ("memories", KEY, COMPRESSION_FIELD.name),
    "By operand. A tensor that its format would make larger is stored as it is, and so are partial "
    "sums: see [Compressed tensors](cost-model.md#compressed-tensors).",
    COMPRESSION_FIELD.kind,
    (
        Form("I1: bitmask", "a bit for each element, and the elements that are not zero"),
        Form("I1: run_length 5", "before each element the number of zeros before it, in 5 bit"),
    ),
)


def parse_compression(node: Node, operands: Collection[str]) -> tuple[Compression, ...]:
    """The formats of the operands that are listed.

    Raises:
        InputError: if an operand is not in the memory, or a format is not known.
    """
    entries = node.named(COMPRESSION_FIELD.kind)
    return tuple(_compression(name, entry, operands) for name, entry in entries.items())


def _compression(operand: str, node: Node, operands: Collection[str]) -> Compression:
    if operand not in operands:
        expected = f"an operand of the memory: {suggestion(operand, operands)}"
        raise node.error(expected, f"the operand {operand!r}")
    form, _, bits = node.text(_FORMAT).partition(" ")
    if form == BITMASK and not bits:
        return Compression(operand=operand)
    run_bits = int(bits) if bits.isascii() and bits.isdecimal() and len(bits) <= 2 else 0
    if form != RUN_LENGTH or not 1 <= run_bits <= MOST_RUN_BITS:
        raise node.error(_FORMAT)
    return Compression(operand=operand, run_bits=run_bits)


_USE: Final = f"an operand and a movement ({', '.join(Movement)}) such as 'I1, tl'"

_SIZE: Final = Field("size", "capacity of one instance", "a positive number of bits", "2097152")
_OPERANDS: Final = Field(
    "operands",
    "the operands that the memory holds; `O` is the outputs, all others are inputs",
    "a list of memory operands such as I1",
    "[I1, I2, O]",
)
_PORTS: Final = Field("ports", "its [ports](#port)", "a list of ports", "")
SERVED_DIMENSIONS: Final = Field(
    "served_dimensions",
    "the array dimensions along which units share one instance; along all others each unit has "
    "its own",
    ARRAY_DIMENSIONS,
    "[D1, D2]",
)
_LATENCY: Final = Field(
    "latency",
    "latency of an access; shown but not counted: transfer times follow from port widths",
    "a number of cycles, not negative",
    "2",
    Need.OPTIONAL,
    default="1",
)
_DOUBLE_BUFFERING: Final = Field(
    "force_double_buffering",
    "whether the memory always holds two copies of a tile, which takes twice the capacity",
    SWITCH,
    "true",
    Need.OPTIONAL,
    default="false",
)
_WINDOW_REUSE: Final = Field(
    "window_reuse",
    "whether the memory loads only what slides in when a loop moves a window of the inputs, as "
    "`OX` does over `FX`",
    SWITCH,
    "true",
    Need.OPTIONAL,
    default="false",
    origin=Origin.NESTMAP,
)

MEMORY: Final = Section(
    "Memory",
    ("memories", KEY),
    "The key is the name of the memory. Memories are listed innermost first: of two memories that "
    "hold the same operand, the first is closer to the array. `r_cost` and `w_cost` state the cost "
    "of an access, or it is computed: see [What memories cost](memory-costs.md).",
    (
        *(_SIZE, _OPERANDS, _PORTS, SERVED_DIMENSIONS, _LATENCY, _DOUBLE_BUFFERING),
        *(_WINDOW_REUSE, COMPRESSION_FIELD),
        *COST_FIELDS,
    ),
)

_NAME: Final = Field("name", "the name of the port in reports", "the name of the port", "r_port_1")
_TYPE: Final = Field("type", "the accesses that the port supports", one_of(PortKind), "read_write")
_BANDWIDTH_MIN: Final = Field(
    "bandwidth_min", "the granularity of transfers: each takes a whole multiple of it", RATE, "64"
)
_BANDWIDTH_MAX: Final = Field(
    "bandwidth_max",
    "bits per cycle, at least `bandwidth_min`; `r_cost` and `w_cost` are for this many bits",
    RATE,
    "512",
)
_ALLOCATION: Final = Field(
    "allocation",
    "the data movements through the port: see [movements](#movements-of-a-port)",
    f"a list, each item {_USE}",
    '["I1, tl", "I2, tl", "O, tl", "O, th"]',
)

PORT: Final = Section(
    "Port",
    (*MEMORY.at, _PORTS.name, ITEM),
    "Every movement that the hierarchy needs must be assigned to a port of the memory.",
    (_NAME, _TYPE, _BANDWIDTH_MIN, _BANDWIDTH_MAX, _ALLOCATION),
)

MOVEMENTS: Final = Entries(
    "Movements of a port",
    (*PORT.at, _ALLOCATION.name),
    "Each item is an operand of the memory and a movement, from the memory's point of view.",
    _ALLOCATION.kind,
    (
        Form('"O, tl"', "*to low*: read towards the array"),
        Form('"O, fl"', "*from low*: written from the array; outputs only"),
        Form('"O, th"', "*to high*: read towards outer memories; outputs only"),
        Form('"O, fh"', "*from high*: written from outer memories"),
    ),
)


def parse_memory(
    name: str, node: Node, array: OperationalArray, sources: CostSources
) -> MemoryLevel:
    """The memory level that an entry of the field ``memories`` describes.

    Raises:
        InputError: if it does not match the schema; the error names line and field.
    """
    fields = node.fields(MEMORY)
    operands = fields[_OPERANDS].names("a memory operand such as I1")
    if not operands:
        raise fields[_OPERANDS].error("at least one memory operand")
    size = fields[_SIZE].integer(_SIZE.kind, minimum=1)
    imc = array.imc if name == IMC_CELLS else None
    bank = Bank(array.imc_sizes, imc) if imc else None
    built = MemoryDescription(node, size, _ports(fields[_PORTS], operands), bank)
    instance = _instance(name, fields, built, memory_cost(fields, built, sources))
    served = fields[SERVED_DIMENSIONS].names(ARRAY_DIMENSION, array.sizes)
    formats = fields.get(COMPRESSION_FIELD)
    with node.locate_errors():
        return MemoryLevel(
            instance=instance,
            operands=operands,
            served_dimensions=served,
            compression=parse_compression(formats, operands) if formats else (),
        )


def _instance(
    name: str, fields: Mapping[Field, Node], built: MemoryDescription, cost: MemoryCost
) -> MemoryInstance:
    latency = fields.get(_LATENCY)
    doubled, reuse = fields.get(_DOUBLE_BUFFERING), fields.get(_WINDOW_REUSE)
    with built.node.locate_errors():
        return MemoryInstance(
            name=name,
            size=built.size,
            read_energy=cost.read_energy,
            write_energy=cost.write_energy,
            area=cost.area,
            leakage=cost.leakage,
            latency=latency.integer(_LATENCY.kind, minimum=0) if latency else 1,
            ports=tuple(built.ports),
            double_buffered=doubled.boolean() if doubled else False,
            window_reuse=reuse.boolean() if reuse else False,
        )


def _ports(node: Node, operands: Collection[str]) -> tuple[MemoryPort, ...]:
    ports = node.sequence()
    if not ports:
        raise node.error("at least one port")
    made = tuple(_port(port, operands) for port in ports)
    names = [port.name for port in made]
    for place, (name, port) in enumerate(zip(names, ports, strict=True)):
        if name in names[:place]:
            raise port.fields(PORT)[_NAME].error(
                "a name that no other port has", f"a second {name}"
            )
    _check_allocations(made, [port.fields(PORT)[_ALLOCATION] for port in ports])
    return made


def _check_allocations(ports: Sequence[MemoryPort], lists: Sequence[Node]) -> None:
    """Checks that each movement has one port; of several, as in ZigZag's files, the last counts."""
    taken: dict[PortUse, int] = {}
    for i, (port, items) in enumerate(zip(ports, lists, strict=True)):
        for use, item in zip(port.allocation, items.sequence(), strict=True):
            first = taken.setdefault(use, i)
            if first != i:
                found = f"'{use}' at port {port.name}, and at port {ports[first].name} before it"
                warn_of_input(item.where, found, "one port for each movement: the last one counts")
                taken[use] = i
        if len(set(port.allocation)) < len(port.allocation):
            raise items.error("each movement once", "one movement twice")


def _port(node: Node, operands: Collection[str]) -> MemoryPort:
    fields = node.fields(PORT)
    least, most = rate(fields[_BANDWIDTH_MIN]), rate(fields[_BANDWIDTH_MAX])
    if least > most:
        expected = f"at least {_BANDWIDTH_MIN.name}, {least} bit/cycle"
        raise fields[_BANDWIDTH_MAX].error(expected)
    with node.locate_errors():
        return MemoryPort(
            name=fields[_NAME].text(_NAME.kind),
            kind=fields[_TYPE].choice(PortKind),
            width_min=least,
            width_max=most,
            allocation=tuple(
                _use(item, operands) for item in fields[_ALLOCATION].sequence(_ALLOCATION.kind)
            ),
        )


def _use(node: Node, operands: Collection[str]) -> PortUse:
    operand, comma, movement = (part.strip() for part in node.text(_USE).partition(","))
    if not comma or movement not in list(Movement):
        raise node.error(_USE)
    if operand not in operands:
        raise node.error(f"an operand of the memory: {suggestion(operand, operands)}")
    return PortUse(operand=operand, movement=Movement(movement))
