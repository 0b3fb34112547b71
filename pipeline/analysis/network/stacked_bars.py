"""Computes stacked bars: energies and cycles by component, one value for each layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from nestmap.model import (
    MOVEMENTS,
    ArrayPart,
    CostModelEvaluation,
    NetworkEvaluation,
    PartKind,
    StaticEnergy,
    VectorEvaluation,
)
from nestmap.model.dims import LayerOperand
from nestmap.pipeline.format.palette import (
    CAUSES,
    GREYS,
    Look,
    grey_look,
    operand_looks,
    ramp_color,
)

# --- bars of the energy and the stall of each memory, summed over all layers ---

ARRAY: Final = "array"
"""The bar of computation, below those of the memories."""


def memory_bars(cmes: Sequence[CostModelEvaluation]) -> Bars:
    """The energy (pJ) of the array and of each memory: computation, reads, writes, leakage."""
    names = (ARRAY, *memory_looks(cmes))
    parts = [part for part in _parts(cmes, names) if any(part.values)]
    return Bars(names, tuple(parts))


def _parts(cmes: Sequence[CostModelEvaluation], names: Sequence[str]) -> Iterator[Part]:
    computation = sum(cme.mac_energy for cme in cmes)
    yield Part("computation", Look(GREYS[0]), (computation, *(0.0 for _ in names[1:])))
    looks = operand_looks(entry.operand for cme in cmes for entry in cme.levels)
    for operand, look in looks.items():
        for reads, does, hatch in ((True, "read", ""), (False, "written", "/////")):
            values = tuple(_moved(cmes, name, operand, reads=reads) for name in names)
            yield Part(f"{operand} {does}", look._replace(hatch=hatch or look.hatch), values)
    leaks = tuple(sum(leakage_of(cme, name) for cme in cmes) for name in names[1:])
    array = sum(array_leakage(cme) for cme in cmes)
    yield Part(LEAKAGE, LEAKAGE_LOOK, (array, *leaks))


def _moved(
    cmes: Sequence[CostModelEvaluation], memory: str, operand: LayerOperand, *, reads: bool
) -> float:
    """The energy (pJ) of reading or writing an operand in a memory."""
    return sum(
        energy
        for cme in cmes
        for entry in cme.levels
        if entry.memory == memory and entry.operand == operand
        for movement, energy in zip(MOVEMENTS, entry.costs.energies, strict=True)
        if movement.reads is reads
    )


# --- computes stacked bars ---

VECTOR: Final = "vector operators"
LEAKAGE: Final = "leakage"
VECTOR_LOOK: Final = Look("#ffffff", "/////")
LEAKAGE_LOOK: Final = Look("#ffffff", ".....")

_ARRAY_LABELS: Final = {
    ArrayPart.CELLS: "cells (array)",
    ArrayPart.DACS: "DACs",
    ArrayPart.ADCS: "ADCs",
    ArrayPart.MULTIPLIERS: "multipliers",
    ArrayPart.BIT_LINES: "bit lines",
    ArrayPart.ADDER_TREES: "adder trees",
    ArrayPart.PLACE_VALUE_ADDERS: "place adders",
    ArrayPart.ACCUMULATORS: "accumulators",
}

Number = Callable[[CostModelEvaluation], float]


class Part(NamedTuple):
    """One colour of stacked bars: its meaning, and its length in each bar."""

    label: str
    look: Look
    values: tuple[float, ...]


class Bars(NamedTuple):
    """Stacked bars: the name of each bar, and the parts of all of them."""

    names: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def totals(self) -> tuple[float, ...]:
        """The total length of each bar."""
        return tuple(sum(part.values[i] for part in self.parts) for i in range(len(self.names)))


_CYCLES: Final[tuple[tuple[str, Look, Number], ...]] = (
    ("ideal", Look(GREYS[0]), lambda cme: cme.ideal_cycles),
    ("idle units", Look(GREYS[4]), lambda cme: cme.ideal_temporal_cycles - cme.ideal_cycles),
    ("stall", Look(CAUSES[0]), lambda cme: cme.stall),
    ("on-loading", Look(CAUSES[1]), lambda cme: cme.onloading),
    ("off-loading", Look(CAUSES[2]), lambda cme: cme.offloading),
    ("drain", Look(CAUSES[3]), lambda cme: cme.drain),
)


def energy_bars(evaluation: NetworkEvaluation) -> Bars:
    """The energy (pJ) of each layer by component: array, memories, leakage.

    A last bar has all vector operators, if they count.
    """
    cmes = cmes_of(evaluation)
    return _with_vector(evaluation, energy_parts(cmes), evaluation.vector_energy)


def latency_bars(evaluation: NetworkEvaluation) -> Bars:
    """The latency (cycles) of each layer by cause; vector operators as in energies."""
    cmes = cmes_of(evaluation)
    return _with_vector(evaluation, latency_parts(cmes), float(evaluation.vector_latency))


def share_bars(evaluation: NetworkEvaluation) -> Bars:
    """The latency of each layer as shares of 1; the share of ideal cycles is the utilization."""
    cmes = cmes_of(evaluation)
    parts = [
        part._replace(
            values=tuple(v / cme.latency for v, cme in zip(part.values, cmes, strict=True))
        )
        for part in latency_parts(cmes)
    ]
    return Bars(tuple(cme.layer for cme in cmes), tuple(parts))


def cmes_of(evaluation: NetworkEvaluation) -> tuple[CostModelEvaluation, ...]:
    """The evaluations of all layers."""
    return tuple(result.cme for result in evaluation.layers)


def energy_parts(cmes: Sequence[CostModelEvaluation]) -> tuple[Part, ...]:
    """The components of the energy (pJ), a value for each evaluation; always 0 is left out."""
    computation = [*_array_parts(cmes), _named("MACs", cmes, _other_macs)]
    greys = (part._replace(look=grey_look(i)) for i, part in enumerate(_present(computation)))
    looks = memory_looks(cmes)
    memories = (_memory(cmes, name, looks[name]) for name in looks)
    leakage = _named(LEAKAGE, cmes, lambda cme: cme.static_energy)._replace(look=LEAKAGE_LOOK)
    return (*greys, *_present([*memories, leakage]))


def latency_parts(cmes: Sequence[CostModelEvaluation]) -> tuple[Part, ...]:
    """The components of the latency (cycles), a value for each evaluation; always 0 is left out."""
    parts = (_named(label, cmes, number)._replace(look=look) for label, look, number in _CYCLES)
    return tuple(_present(parts))


def memory_looks(cmes: Iterable[CostModelEvaluation]) -> dict[str, Look]:
    """The look of each memory, innermost first and lightest; the same in all figures."""
    depth: dict[str, int] = {}
    for cme in cmes:
        for entry in cme.levels:
            depth[entry.memory] = max(depth.get(entry.memory, 0), entry.level)
    names = sorted(depth, key=depth.__getitem__)
    return {name: Look(ramp_color(i, len(names))) for i, name in enumerate(names)}


def memory_energy(cme: CostModelEvaluation, memory: str) -> float:
    """The energy (pJ) of all accesses to a memory."""
    return sum(entry.costs.energy for entry in cme.levels if entry.memory == memory)


def leakage_of(cme: CostModelEvaluation, memory: str) -> float:
    """The leakage (pJ) of a memory while the layer runs, if leakage is modelled."""
    return sum(x.energy for x in cme.static_energies if _is_memory(x) and x.part == memory)


def array_leakage(cme: CostModelEvaluation) -> float:
    """The leakage (pJ) of the array and of memories that the layer does not use."""
    used = {entry.memory for entry in cme.levels}
    return sum(x.energy for x in cme.static_energies if not (_is_memory(x) and x.part in used))


def _is_memory(entry: StaticEnergy) -> bool:
    return entry.kind is PartKind.MEMORY


def _array_parts(cmes: Sequence[CostModelEvaluation]) -> Iterator[Part]:
    for part in ArrayPart:
        values = tuple(_array_energy(cme, part) for cme in cmes)
        yield Part(_ARRAY_LABELS[part], grey_look(0), values)


def _array_energy(cme: CostModelEvaluation, part: ArrayPart) -> float:
    return sum((entry.energy for entry in cme.array_energies if entry.part is part), 0.0)


def _other_macs(cme: CostModelEvaluation) -> float:
    """The energy of computation that has no breakdown."""
    return 0.0 if cme.array_energies else cme.mac_energy


def _memory(cmes: Sequence[CostModelEvaluation], name: str, look: Look) -> Part:
    return Part(name, look, tuple(memory_energy(cme, name) for cme in cmes))


def _named(label: str, cmes: Sequence[CostModelEvaluation], number: Number) -> Part:
    return Part(label, grey_look(0), tuple(float(number(cme)) for cme in cmes))


def _present(parts: Iterable[Part]) -> Iterator[Part]:
    return (part for part in parts if any(part.values))


def _with_vector(evaluation: NetworkEvaluation, parts: tuple[Part, ...], vector: float) -> Bars:
    names = tuple(result.cme.layer for result in evaluation.layers)
    operators: tuple[VectorEvaluation, ...] = evaluation.vector
    if not (evaluation.vector_counted and operators):
        return Bars(names, parts)
    longer = tuple(part._replace(values=(*part.values, 0.0)) for part in parts)
    values = (*(0.0 for _ in names), vector)
    return Bars((*names, VECTOR), (*longer, Part(VECTOR, VECTOR_LOOK, values)))
