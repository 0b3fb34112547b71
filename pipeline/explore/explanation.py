"""The explanation of one mapping of a layer, as a model and as text."""

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Final, NamedTuple

from nestmap.model import CostModelEvaluation, Frozen, Loop, ObjectiveBound, SpatialProblem
from nestmap.model.display import view
from nestmap.model.units import Count
from nestmap.pipeline.analysis.mapping.costs import (
    binding,
    check_evaluation,
    energy_breakdown,
    waterfall,
)
from nestmap.pipeline.analysis.mapping.explanation import (
    Binding,
    EnergyBreakdown,
    LoopNest,
    PortTraffic,
    Waterfall,
    WhatIf,
)
from nestmap.pipeline.analysis.mapping.records import evaluated, loop_nest, port_traffic
from nestmap.pipeline.analysis.mapping.what_if import unfixed_spatial_mappings, what_ifs
from nestmap.pipeline.analysis.network.stacked_bars import memory_looks
from nestmap.pipeline.format.mappings import sizes_text
from nestmap.pipeline.format.numbers import count, engineering
from nestmap.pipeline.format.palette import Look
from nestmap.pipeline.render.notebook.explanation import explanation_html
from nestmap.pipeline.render.tables.explanation import (
    access_table,
    energy_table,
    latency_table,
    port_table,
    what_if_table,
)
from nestmap.pipeline.render.tables.table import Table
from nestmap.pipeline.render.text.explanation import (
    advice,
    array_text,
    energy_reason,
    headline,
    latency_reason,
    nest_lines,
    title,
    unchanged,
)
from nestmap.pipeline.render.text.gap import bound_sentence
from nestmap.pipeline.render.text.network import padding_note
from nestmap.pipeline.render.text.plain_table import Line, Tone, listing, printable, table_lines
from nestmap.search.temporal.exact.equal_rows import count_equals

WIDTH: Final = 100
"""The default width at which sentences wrap, in columns."""

_NARROWEST: Final = 20


class ExplanationNotes(NamedTuple):
    """What the parts of an explanation mean."""

    nest: str = (
        "# memory: the tile that one of its instances holds while the loops below run. parfor: "
        "side by side on the array. Loops that do not index an operand leave its tile in place."
    )
    ports: str = (
        "Stall: cycles that the array would wait for this port alone (below 0: slack). The largest "
        "one counts, the others hide behind it. tl, fl: to and from the level below; th, fh: to "
        "and from the level above."
    )
    accesses: str = (
        "Tiles: how many an instance holds one after the other. To and from below and above: "
        "accesses of a port's full width, of all instances."
    )
    what_if: str = (
        "Each row is evaluated. Spatial mapping: the best of those with the lowest bounds, with "
        "LOMA's orders of six factors, whatever the mapping file fixes. 2x width: the largest "
        "width of a port, with the same energy per bit. 2x capacity: with the same ports, leakage "
        "and energy per access, and the same mapping, or the same order of loops and the memories "
        "filled anew for it as LOMA does."
    )

    @property
    def titled(self) -> tuple[str, ...]:
        """Each note with the title of its part."""
        return (
            f"LOOP NEST  {self.nest}",
            f"PORTS  {self.ports}",
            f"ACCESSES  {self.accesses}",
            f"WHAT IF  {self.what_if}",
        )


NOTES: Final = ExplanationNotes()


class ExplanationTables(NamedTuple):
    """The tables of an explanation."""

    latency: Table
    energy: Table
    ports: Table
    accesses: Table
    what_if: Table


class Explanation(Frozen, frozen=True):
    """The loop nest of a mapping, its costs, their causes, and possible improvements.

    Energies are in pJ, latencies in cycles, sizes in bits; ``cme`` is the explained evaluation.
    ``bound`` is a lower bound of the objective for which it was chosen, if one is known. ``equals``
    counts the other spatial mappings that cost the same under every order of loops, or differ in
    the drain alone.
    """

    layer: str
    operator: str
    accelerator: str
    sizes: tuple[Loop, ...]
    macs: Count
    nest: LoopNest
    latency: Waterfall
    ports: tuple[PortTraffic, ...]
    energy: EnergyBreakdown
    binding: Binding
    what_ifs: tuple[WhatIf, ...]
    cme: CostModelEvaluation
    bound: ObjectiveBound | None = None
    equals: Count = 0

    def text(self, width: int = WIDTH) -> str:
        """The explanation as text; sentences wrap at ``width``."""
        return "\n".join(line.text for line in self.lines(width))

    def lines(self, width: int = WIDTH) -> list[Line]:
        """The lines of the text, with their terminal styles."""
        tables = self.tables()
        return [
            *_prose(self._heading(), width),
            *(Line(), title("WHY"), *_prose(self.why(), width)),
            *(Line(), title("LOOP NEST"), *nest_lines(self.nest)),
            *(Line(), title("LATENCY"), *listing(tables.latency)),
            *(Line(), title("ENERGY"), *listing(tables.energy)),
            *(Line(), title("PORTS"), *table_lines(tables.ports)),
            *(Line(), title("ACCESSES"), *table_lines(tables.accesses)),
            *(Line(), title("WHAT IF"), *table_lines(tables.what_if)),
            *_prose([self.unchanged], width),
            *(Line(), *_prose(NOTES.titled, width, Tone.FAINT)),
        ]

    def tables(self, looks: Mapping[str, Look] | None = None) -> ExplanationTables:
        """All tables; ``looks`` are those of the memories, if there are other figures of them."""
        cme = self.cme
        return ExplanationTables(
            latency=latency_table(cme, self.latency),
            energy=energy_table(cme, self.energy, looks or memory_looks([cme])),
            ports=port_table(cme, self.ports),
            accesses=access_table(cme, self.nest),
            what_if=what_if_table(cme, self.binding, self.what_ifs),
        )

    @property
    def unchanged(self) -> str:
        """The ports and memories whose change has no significant effect, in a sentence."""
        return unchanged(self.cme, self.binding, self.what_ifs)

    def why(self) -> Iterable[str]:
        """The summary in sentences: totals, bound, bottleneck, energy, possible improvements."""
        yield headline(self.cme)
        if self.bound is not None:
            yield bound_sentence(self.bound, self.cme)
        if self.cme.padding:
            yield padding_note(self.cme)
        yield from latency_reason(self.binding, self.latency, self.ports)
        yield from energy_reason(self.cme)
        yield advice(self.cme, self.what_ifs)

    def _heading(self) -> Iterable[str]:
        yield f"{printable(self.layer)} ({printable(self.operator)}): {self.nest.statement}"
        yield f"{sizes_text(self.sizes)}: {engineering(self.macs)} MACs"
        others = f"; {count(self.equals)} other spatial mapping{'s' * (self.equals > 1)} "
        same = others + f"cost{'s' * (self.equals == 1)} the same" if self.equals else ""
        yield f"on {printable(self.accelerator)}: {array_text(self.nest.parallel)}{same}"


def explain(
    spatial: SpatialProblem, cme: CostModelEvaluation, bound: ObjectiveBound | None = None
) -> Explanation:
    """Explains a mapping: its loop nest, its costs, the bottleneck and possible improvements.

    ``spatial`` is the problem of the evaluation: layer, accelerator and spatial mapping
    (:func:`~nestmap.pipeline.explore.resume.recorded_problem` finds that of a result).
    ``bound`` is that of the result; it says how far the mapping may be from the optimum.
    A few other spatial mappings are tried, and the mapping is evaluated on a few dozen accelerators
    with wider ports and larger memories.

    Raises:
        InputError: where the evaluation is not one of a mapping of this problem.
    """
    check_evaluation(spatial, cme)
    records = evaluated(spatial, cme.temporal_mapping)
    ports, every = port_traffic(spatial, records), unfixed_spatial_mappings(spatial)
    return Explanation(
        layer=cme.layer,
        operator=cme.operator,
        accelerator=cme.accelerator,
        sizes=spatial.layer.loops,
        macs=cme.macs,
        nest=loop_nest(spatial, cme, records),
        latency=waterfall(cme),
        ports=ports,
        energy=energy_breakdown(spatial.accelerator, cme),
        binding=binding(cme, ports),
        what_ifs=what_ifs(spatial, cme, ports, every),
        cme=cme,
        bound=bound,
        equals=count_equals(spatial, every),
    )


@view.register
def explanation_view_html(explanation: Explanation) -> str:
    """The text in collapsible sections, for notebooks."""
    return explanation_html(explanation.lines(), NOTES.titled)


def _prose(sentences: Iterable[str], width: int, tone: Tone = Tone.PLAIN) -> list[Line]:
    rows = (row for sentence in sentences for row in wrap(sentence, max(_NARROWEST, width)))
    return [Line(row, tone) for row in rows]
