"""Shows the explained mapping of a layer: sentences, loop nest and tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from nestmap.model import LayerResult
from nestmap.pipeline.explore.explanation import (
    NOTES,
    Explanation,
    ExplanationNotes,
    ExplanationTables,
)
from nestmap.pipeline.format.mappings import sizes_text
from nestmap.pipeline.format.numbers import engineering, with_micro
from nestmap.pipeline.format.palette import Look
from nestmap.pipeline.pages.report.summary import Fact, gap_fact
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import EDP_UNIT
from nestmap.pipeline.render.text.explanation import array_text, nest_lines
from nestmap.pipeline.render.text.network import skipped_of
from nestmap.pipeline.render.text.plain_table import Tone


@final
@dataclass(frozen=True, slots=True)
class NestLine:
    """A line of the loop nest; ``word`` is its leading keyword, if any."""

    indent: str
    word: str
    text: str
    faint: bool


@final
@dataclass(frozen=True, slots=True)
class ExplainedLayer:
    """The explanation of a layer that does not repeat another one."""

    subtitle: str
    array: str
    statement: str
    facts: tuple[Fact, ...]
    why: tuple[str, ...]
    nest: tuple[NestLine, ...]
    tables: ExplanationTables
    notes: ExplanationNotes
    unchanged: str
    skipped: tuple[str, ...]


def explained_layer(
    result: LayerResult, explanation: Explanation, looks: dict[str, Look]
) -> ExplainedLayer:
    """The tables and sentences of an explanation; ``looks`` are those of the memories."""
    cme = result.cme
    return ExplainedLayer(
        subtitle=f"{cme.operator}, {sizes_text(explanation.sizes)}: {engineering(cme.macs)} MACs",
        array=array_text(explanation.nest.parallel),
        statement=explanation.nest.statement,
        facts=tuple(_facts(result)),
        why=tuple(map(with_micro, explanation.why())),
        nest=tuple(_nest(explanation)),
        tables=explanation.tables(looks),
        notes=NOTES,
        unchanged=explanation.unchanged,
        skipped=tuple(skipped_of(result)),
    )


def _facts(result: LayerResult) -> Iterator[Fact]:
    cme = result.cme
    yield Fact("Latency", cells.cycles(cme.latency), "cycles")
    yield Fact("Energy", cells.energy(cme.energy))
    yield Fact("EDP", cells.edp(cme.energy * cme.latency), EDP_UNIT)
    yield Fact("MAC utilization", cells.share(cme.utilization))
    yield Fact("Spatial", cells.share(cme.spatial_utilization), "of the array in use")
    yield Fact("Stall", cells.cycles(cme.stall), "cycles")
    if cme.static_energies:
        yield Fact("Leakage", cells.energy(cme.static_energy))
    yield Fact("Mappings", cells.count(result.statistics.evaluations), "evaluated")
    if result.gap is not None:
        yield gap_fact(result.gap)


def _nest(explanation: Explanation) -> Iterator[NestLine]:
    for line in nest_lines(explanation.nest):
        text = line.text.lstrip(" ")
        indent = " " * (len(line.text) - len(text))
        first, space, rest = text.partition(" ")
        word = first + space if first in ("for", "parfor") else ""
        yield NestLine(indent, word, rest if word else text, line.tone is Tone.FAINT)
