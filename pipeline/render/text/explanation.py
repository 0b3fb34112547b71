"""Explains a mapping in sentences, with the most effective changes, and as a loop nest in code."""

from collections.abc import Iterator, Sequence
from typing import Final

from nestmap.model import CostModelEvaluation, Loop, Movement
from nestmap.pipeline.analysis.mapping.explanation import (
    Binding,
    Bound,
    Change,
    HandedOn,
    LoopNest,
    ParallelLoops,
    PortName,
    PortTraffic,
    PortTransfer,
    Tile,
    Waterfall,
    WhatIf,
)
from nestmap.pipeline.analysis.mapping.explanation import LatencyPart as Part
from nestmap.pipeline.format.numbers import (
    capacity,
    count,
    cycles,
    energy,
    engineering,
    share,
    signed_share,
)
from nestmap.pipeline.render.tables.explanation import asks_for, described, gains
from nestmap.pipeline.render.text.plain_table import Line, Tone, printable

_OTHER_MAPPING: Final = (Change.SPATIAL, Change.FILLED)
_ALONE: Final = (Change.PORT, Change.HOPS, Change.CAPACITY, Change.CAPACITY_FILLED)
_TOGETHER: Final = (Change.BINDING_PORTS,)
_VERBS: Final = {
    Movement.RD_TO_LOW: "read towards the array",
    Movement.WR_BY_LOW: "written from below",
    Movement.RD_TO_HIGH: "read for the level above",
    Movement.WR_BY_HIGH: "written from above",
}
_NOTABLE: Final = 0.001
"""Smaller changes are not mentioned in sentences."""
_INDENT: Final = "  "


def headline(cme: CostModelEvaluation) -> str:
    """Latency, energy and utilization, in a sentence."""
    period = cme.clock_period
    time = f" ({engineering(cme.latency * period * 1e-9, 's')})" if period is not None else ""
    return (
        f"{cycles(cme.latency)} cycles{time}, {energy(cme.energy)}, MAC utilization "
        f"{share(cme.utilization)}."
    )


def latency_reason(
    binding: Binding, latency: Waterfall, ports: Sequence[PortTraffic]
) -> Iterator[str]:
    """The bottleneck and its size, causes with more cycles first; then an overloaded port."""
    idle = latency.cycles_of(Part.IDLE_UNITS)
    reasons = [(binding.cycles, list(_bound(binding, latency, ports)))]
    if idle:
        reasons.append((idle, [_idle(latency, idle)]))
    for _, sentences in sorted(reasons, key=lambda reason: -reason[0]):
        yield from sentences
    busiest = max(ports, key=lambda port: port.busy, default=None)
    if busiest is not None and busiest.busy > latency.total:
        yield (
            f"The {_named([busiest.name])} is busy for {count(busiest.busy)} cycles, "
            f"{share(busiest.busy / latency.total - 1)} more than the latency: its loads overlap, "
            "as the reference counts; without --reference they wait."
        )


def _bound(binding: Binding, latency: Waterfall, ports: Sequence[PortTraffic]) -> Iterator[str]:
    part = f"{cycles(binding.cycles)} cycles ({share(binding.cycles / latency.total)})"
    match binding.bound:
        case Bound.PORT:
            yield f"The array waits {part} for {_named(binding.ports)}."
            yield from _overloads([x for x in ports if x.name in binding.ports])
        case Bound.HOPS:
            handed = ", ".join(_handed_on(x) for x in binding.hops)
            yield f"The array waits {part} for links between units: {handed}."
        case Bound.LOADING:
            where = f", above all at {_named(binding.ports)}" if binding.ports else ""
            yield (
                "No port makes the array wait. Loading the first data and storing the last takes "
                f"{part}{where}."
            )
        case Bound.ARRAY:
            yield "The array itself binds: it waits for nothing."


def _handed_on(operand: HandedOn) -> str:
    """What links are busy with, and for how long."""
    return (
        f"handing on {operand.operand} of {printable(operand.memory)} keeps each busy for "
        f"{count(operand.busy)} cycles"
    )


def _idle(latency: Waterfall, idle: float) -> str:
    ideal = latency.cycles_of(Part.IDEAL)
    return (
        f"The spatial mapping keeps {share(ideal / (ideal + idle))} of the array busy: idle units "
        f"cost {cycles(idle)} cycles ({share(idle / latency.total)})."
    )


def _overloads(ports: Sequence[PortTraffic]) -> Iterator[str]:
    """The transfers that exceed their allowed cycles, port by port."""
    for port in ports:
        late = [x for x in port.transfers if x.needed > x.allowed and x.times > 1]
        for transfer in late:
            yield _late(transfer, port)
        if not late:
            carried = ", ".join(_moved(x) for x in port.transfers)
            yield f"Each transfer alone would be in time; together ({carried}) they are not."


def _late(transfer: PortTransfer, port: PortTraffic) -> str:
    full = f" ({_no_room(transfer.near)})" if transfer.near and not transfer.ahead else ""
    return (
        f"{_moved(transfer)}, {count(transfer.times)} times: {count(transfer.bits)} bit take "
        f"{count(transfer.needed)} cycles at {count(port.width_max)} bit/cycle, and "
        f"{count(transfer.allowed)} are free for it{full}."
    )


def _moved(transfer: PortTransfer) -> str:
    return f"{transfer.operand} from {_place(transfer.source)} to {_place(transfer.target)}"


def _place(memory: str | None) -> str:
    return "the array" if memory is None else printable(memory)


def _no_room(memory: str) -> str:
    return f"{printable(memory)} has no room for a second tile"


def energy_reason(cme: CostModelEvaluation) -> Iterator[str]:
    """The largest consumer of energy: array, leakage, or a transfer of an operand."""
    spent = [
        (value, f"{entry.operand} in {printable(entry.memory)} ({_VERBS[movement]})")
        for entry in cme.levels
        for movement, value in zip(Movement, entry.costs.energies, strict=True)
    ]
    spent += [(cme.mac_energy, "the array"), (cme.static_energy, "leakage")]
    most, what = max(spent, key=lambda pair: pair[0])
    if most:
        yield f"The largest part of the energy, {share(most / cme.energy)}, goes to {what}."


def advice(cme: CostModelEvaluation, answers: Sequence[WhatIf]) -> str:
    """The changes that lower latency and energy most: first those that need no other accelerator.

    Then the one port or memory that lowers them further if doubled, and the best group of ports.
    """
    latency, spent, found = cme.latency, cme.energy, list[str]()
    for changes in (_OTHER_MAPPING, _ALONE, _TOGETHER):
        some = [answer for answer in answers if answer.change in changes]
        fastest = min(some, key=lambda x: (x.latency, x.energy), default=None)
        if fastest is not None and fastest.latency < latency * (1 - _NOTABLE):
            latency = fastest.latency
            found.append(
                f"latency {signed_share(latency / cme.latency - 1)} with {described(fastest)}"
            )
        thriftiest = min(some, key=lambda x: (x.energy, x.latency), default=None)
        if thriftiest is not None and thriftiest.energy < spent * (1 - _NOTABLE):
            spent = thriftiest.energy
            found.append(
                f"energy {signed_share(spent / cme.energy - 1)} with {described(thriftiest)}"
            )
    if found:
        return f"What would help most: {'; '.join(found)}."
    return (
        "No other spatial mapping, no port twice as wide and no memory twice as large would help."
    )


def unchanged(cme: CostModelEvaluation, binding: Binding, answers: Sequence[WhatIf]) -> str:
    """The ports and memories whose change has no significant effect."""
    same = [x for x in answers if not gains(cme, x, answers) and not asks_for(binding, x)]
    ports = sum(x.change is Change.PORT for x in same)
    helpful = {x.memory for x in answers if gains(cme, x, answers)}
    memories = [
        printable(x.memory)
        for x in same
        if x.memory and x.memory not in helpful and x.change is Change.CAPACITY
    ]
    parts = [f"the width of {count(ports)} other port{'s' if ports > 1 else ''}"] if ports else []
    parts += [f"the capacity of {' or '.join(memories)}"] if memories else []
    return f"Without effect (below 0.05%): twice {', and twice '.join(parts)}." if parts else ""


def _named(ports: Sequence[PortName]) -> str:
    names = [f"port {printable(x.port)} of {printable(x.memory)}" for x in ports]
    return " and ".join(names)


# --- the loop nest as code, and the array ---


def title(text: str) -> Line:
    """The title of a section."""
    return Line(text, Tone.STRONG)


def nest_lines(nest: LoopNest) -> list[Line]:
    """The dataflows, and the loops, outermost first; a tile is above the loops that reuse it."""
    names = ", ".join(x.replace("_", " ") for x in nest.dataflows)
    lines = [Line(f"# {names}", Tone.FAINT)] if names else []
    depth = 0
    for inner in range(len(nest.order), -1, -1):
        begun = [tile for tile in nest.tiles if tile.stays == inner]
        lines += (Line(f"{_INDENT * depth}# {x}", Tone.FAINT) for x in _tile_texts(begun))
        if inner:
            lines.append(Line(f"{_INDENT * depth}for {_range(nest.order[inner - 1])}:"))
            depth += 1
    for side, loop in ((x, loop) for x in nest.parallel for loop in x.loops if loop.size > 1):
        lines.append(Line(f"{_INDENT * depth}parfor {_range(loop)} on {side.array_dimension}:"))
        depth += 1
    return [*lines, Line(f"{_INDENT * depth}{nest.statement}")]


def _range(loop: Loop) -> str:
    return f"{loop.dimension} in [0:{loop.size})"


def _tile_texts(tiles: Sequence[Tile]) -> Iterator[str]:
    """A text for each memory, outermost first, with its tiles."""
    order = sorted(tiles, key=lambda tile: -tile.level)
    for memory in dict.fromkeys(tile.memory for tile in order):
        held = [tile for tile in tiles if tile.memory == memory]
        instances = f" x{count(held[0].instances)}" if held[0].instances > 1 else ""
        texts = (f"{x.operand} {capacity(x.bits)} ({share(x.share)})" for x in held)
        yield f"{printable(memory)}{instances}: {', '.join(texts)}"


def array_text(parallel: Sequence[ParallelLoops]) -> str:
    """The loops that each array dimension computes in parallel."""
    texts: list[str] = []
    for side in parallel:
        loops = " x ".join(str(loop) for loop in side.loops if loop.size > 1) or "nothing"
        texts.append(f"{side.array_dimension} ({count(side.units)} units) {loops}")
    return ", ".join(texts)
