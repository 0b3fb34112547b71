"""Reads the memories of an accelerator description."""

from collections.abc import Iterator, Sequence

from nestmap.model import (
    IMC_CELLS,
    Compression,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortUse,
)
from nestmap.model.errors import suggestion, warn_of_input
from nestmap.model.hardware.memory import BITMASK, MOST_RUN_BITS, RUN_LENGTH
from nestmap.pipeline.frontend.yaml.file_model import check_known
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import (
    Bank,
    CostSources,
    MemoryDescription,
    memory_cost,
)
from nestmap.pipeline.frontend.yaml.hardware.memory_fields import (
    COMPRESSION_FORMAT,
    USE,
    MemoryFields,
    PortFields,
)
from nestmap.pipeline.frontend.yaml.located_node import Node


def memory_of(
    name: str, node: Node, given: MemoryFields, array: OperationalArray, sources: CostSources
) -> MemoryLevel:
    """The memory level that the fields of an entry of ``memories`` describe.

    Raises:
        InputError: if they do not describe one; the error names line and field.
    """
    if not given.operands:
        raise node.at("operands").error("at least one memory operand")
    imc = array.imc if name == IMC_CELLS else None
    bank = Bank(array.imc_sizes, imc) if imc else None
    built = MemoryDescription(node, given.size, _ports(node, given), bank)
    cost = memory_cost(given, built, sources)
    check_known(node, "served_dimensions", given.served_dimensions, array.sizes)
    with node.locate_errors():
        instance = MemoryInstance(
            name=name,
            size=given.size,
            read_energy=cost.read_energy,
            write_energy=cost.write_energy,
            area=cost.area,
            leakage=cost.leakage,
            latency=given.latency,
            ports=tuple(built.ports),
            double_buffered=given.force_double_buffering,
            window_reuse=given.window_reuse,
        )
        return MemoryLevel(
            instance=instance,
            operands=given.operands,
            served_dimensions=given.served_dimensions,
            compression=tuple(_compressions(node, given)),
        )


def _compressions(node: Node, given: MemoryFields) -> Iterator[Compression]:
    for operand, text in given.compression.items():
        place = node.at("compression", operand)
        if operand not in given.operands:
            expected = f"an operand of the memory: {suggestion(operand, given.operands)}"
            raise place.error(expected, f"the operand {operand!r}")
        form, _, bits = text.partition(" ")
        run_bits = int(bits) if bits.isascii() and bits.isdecimal() and len(bits) <= 2 else 0
        if (form, bits) == (BITMASK, ""):
            yield Compression(operand=operand)
        elif form == RUN_LENGTH and 1 <= run_bits <= MOST_RUN_BITS:
            yield Compression(operand=operand, run_bits=run_bits)
        else:
            raise place.error(COMPRESSION_FORMAT)


def _ports(node: Node, given: MemoryFields) -> tuple[MemoryPort, ...]:
    if not given.ports:
        raise node.at("ports").error("at least one port")
    names = [port.name for port in given.ports]
    made = tuple(
        _port(node.at("ports", i), port, given.operands) for i, port in enumerate(given.ports)
    )
    for i, name in enumerate(names):
        if name in names[:i]:
            found = f"a second {name}"
            raise node.at("ports", i, "name").error("a name that no other port has", found)
    _check_allocations(node.at("ports"), made)
    return made


def _check_allocations(node: Node, ports: Sequence[MemoryPort]) -> None:
    """Checks that each movement has one port; of several, as in ZigZag's files, the last counts."""
    taken: dict[PortUse, int] = {}
    for i, port in enumerate(ports):
        for n, use in enumerate(port.allocation):
            first = taken.setdefault(use, i)
            if first != i:
                where = node.at(i, "allocation", n).where
                found = f"'{use}' at port {port.name}, and at port {ports[first].name} before it"
                warn_of_input(where, found, "one port for each movement: the last one counts")
                taken[use] = i
        if len(set(port.allocation)) < len(port.allocation):
            raise node.at(i, "allocation").error("each movement once", "one movement twice")


def _port(node: Node, given: PortFields, operands: Sequence[str]) -> MemoryPort:
    if given.bandwidth_min > given.bandwidth_max:
        expected = f"at least bandwidth_min, {given.bandwidth_min} bit/cycle"
        raise node.at("bandwidth_max").error(expected)
    with node.locate_errors():
        return MemoryPort(
            name=given.name,
            kind=given.type,
            width_min=given.bandwidth_min,
            width_max=given.bandwidth_max,
            allocation=tuple(_uses(node, given.allocation, operands)),
        )


def _uses(node: Node, allocation: Sequence[str], operands: Sequence[str]) -> Iterator[PortUse]:
    for n, text in enumerate(allocation):
        operand, comma, movement = (part.strip() for part in text.partition(","))
        if not comma or movement not in list(Movement):
            raise node.at("allocation", n).error(USE)
        if operand not in operands:
            expected = f"an operand of the memory: {suggestion(operand, operands)}"
            raise node.at("allocation", n).error(expected)
        yield PortUse(operand=operand, movement=Movement(movement))
