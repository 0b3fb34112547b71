"""Explains latency and energy in sentences, with the most effective changes."""

from collections.abc import Iterator, Sequence
from typing import Final

from nestmap.model import CostModelEvaluation, Movement, SpatialMapping
from nestmap.pipeline.analysis.mapping.explanation import (
    Binding,
    Bound,
    Change,
    HandedOn,
    PortName,
    PortTraffic,
    PortTransfer,
    Waterfall,
    WhatIf,
)
from nestmap.pipeline.analysis.mapping.explanation import LatencyPart as Part
from nestmap.pipeline.format.mappings import spatial_text
from nestmap.pipeline.format.numbers import count, cycles, energy, engineering, share, signed_share
from nestmap.pipeline.render.tables.table import Column, number_column, table
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines

_COLUMNS: Final = (
    Column("If"),
    number_column("Latency", "cycles"),
    number_column("change"),
    number_column("Energy"),
    number_column("change"),
)
_OTHER_MAPPING: Final = (Change.SPATIAL, Change.FILLED)
_ALONE: Final = (Change.PORT, Change.HOPS, Change.CAPACITY, Change.CAPACITY_FILLED)
_TOGETHER: Final = (Change.BINDING_PORTS,)
_OF_ALL: Final = {
    Change.EVERY_PORT: "2x width of every port",
    Change.HOPS: "2x bandwidth between units",
    Change.FILLED: "memories reallocated, none larger",
}
_VERBS: Final = {
    Movement.RD_TO_LOW: "read towards the array",
    Movement.WR_BY_LOW: "written from below",
    Movement.RD_TO_HIGH: "read for the level above",
    Movement.WR_BY_HIGH: "written from above",
}
_NOTABLE: Final = 0.001
"""Smaller changes are not mentioned in sentences."""
_SHOWN: Final = 0.0005
"""Smaller changes would be shown as 0.0%."""


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
            found.append(f"latency {_change(cme.latency, latency)} with {described(fastest)}")
        thriftiest = min(some, key=lambda x: (x.energy, x.latency), default=None)
        if thriftiest is not None and thriftiest.energy < spent * (1 - _NOTABLE):
            spent = thriftiest.energy
            found.append(f"energy {_change(cme.energy, spent)} with {described(thriftiest)}")
    if found:
        return f"What would help most: {'; '.join(found)}."
    return (
        "No other spatial mapping, no port twice as wide and no memory twice as large would help."
    )


def what_if_lines(
    cme: CostModelEvaluation, binding: Binding, answers: Sequence[WhatIf]
) -> list[Line]:
    """A row for the present mapping, for the bottleneck, and for each relevant change."""
    rows = [
        (described(x), *_figures(cme, x.latency, x.energy)) for x in notable(cme, binding, answers)
    ]
    first = ("as it is", cycles(cme.latency), "", energy(cme.energy), "")
    return table_lines(table(_COLUMNS, [first, *rows]))


def notable(cme: CostModelEvaluation, binding: Binding, answers: Sequence[WhatIf]) -> list[WhatIf]:
    """The changes of the bottleneck and the relevant ones; the fastest first."""
    shown = [x for x in answers if _gains(cme, x, answers) or _asks_for(binding, x)]
    return sorted(shown, key=lambda x: (x.latency, x.energy))


def unchanged(cme: CostModelEvaluation, binding: Binding, answers: Sequence[WhatIf]) -> str:
    """The ports and memories whose change has no significant effect."""
    same = [x for x in answers if not _gains(cme, x, answers) and not _asks_for(binding, x)]
    ports = sum(x.change is Change.PORT for x in same)
    helpful = {x.memory for x in answers if _gains(cme, x, answers)}
    memories = [
        printable(x.memory)
        for x in same
        if x.memory and x.memory not in helpful and x.change is Change.CAPACITY
    ]
    parts = [f"the width of {count(ports)} other port{'s' if ports > 1 else ''}"] if ports else []
    parts += [f"the capacity of {' or '.join(memories)}"] if memories else []
    return f"Without effect (below 0.05%): twice {', and twice '.join(parts)}." if parts else ""


def described(answer: WhatIf) -> str:
    """A short description of a change."""
    match answer.change:
        case Change.SPATIAL:
            mapping = answer.spatial_mapping or SpatialMapping()
            return f"spatial mapping {spatial_text(mapping)}"
        case Change.PORT | Change.BINDING_PORTS:
            ports = (f"{printable(x.memory)} {printable(x.port)}" for x in answer.ports)
            return f"2x width of {', '.join(ports)}"
        case Change.EVERY_PORT | Change.HOPS | Change.FILLED:
            return _OF_ALL[answer.change]
        case Change.CAPACITY:
            return f"2x capacity of {printable(answer.memory or '')}, same mapping"
        case Change.CAPACITY_FILLED:
            return f"2x capacity of {printable(answer.memory or '')}, reallocated"


def _figures(cme: CostModelEvaluation, latency: float, spent: float) -> tuple[str, ...]:
    return (
        cycles(latency),
        _change(cme.latency, latency),
        energy(spent),
        _change(cme.energy, spent),
    )


def _change(before: float, after: float) -> str:
    """The change in percent, if any."""
    if after == before:
        return "-"
    if not before:
        return "more"
    return signed_share(after / before - 1)


def _gains(cme: CostModelEvaluation, answer: WhatIf, answers: Sequence[WhatIf]) -> bool:
    """Whether a change matters: of a larger memory, beyond what reallocation does without it."""
    filled = [x for x in answers if x.change is Change.FILLED]
    is_refilled = answer.change is Change.CAPACITY_FILLED and len(filled) > 0
    return matters(filled[0] if is_refilled else cme, answer)


def matters(before: CostModelEvaluation | WhatIf, answer: WhatIf) -> bool:
    """Whether latency or energy differ enough to show in a percentage with one decimal."""
    pairs = ((before.latency, answer.latency), (before.energy, answer.energy))
    return any(abs(after - old) >= old * _SHOWN for old, after in pairs if after != old)


def _asks_for(binding: Binding, answer: WhatIf) -> bool:
    """Whether the change is about the bottleneck, so that it is listed even without effect."""
    if answer.change is Change.HOPS:
        return binding.bound is Bound.HOPS
    return answer.change is Change.PORT and set(answer.ports) <= set(binding.ports)


def _named(ports: Sequence[PortName]) -> str:
    names = [f"port {printable(x.port)} of {printable(x.memory)}" for x in ports]
    return " and ".join(names)
