"""Shows the cost of a layer's mapping: components, memories, loop nest."""

from __future__ import annotations

from nestmap.model.evaluation.cme import CostModelEvaluation
from nestmap.model.evaluation.result import LayerResult
from nestmap.pipeline.format.numbers import energy
from nestmap.pipeline.render.notebook.mapping import level_names, nest_html, spatial_html
from nestmap.pipeline.render.notebook.markup import container, paragraph, table
from nestmap.pipeline.render.tables.breakdown import (
    LEVEL_COLUMNS,
    PART_COLUMNS,
    cost_parts,
    level_cells,
)
from nestmap.pipeline.render.text.gap import bound_sentence


def evaluation_html(cme: CostModelEvaluation) -> str:
    """Tables of energy and latency, every operand at every memory level, and the mapping."""
    levels = [level_cells(entry) for entry in cme.levels]
    total = ("all", "", "", "", "", "", energy(cme.memory_energy))
    named = {(entry.operand, entry.level): entry.memory for entry in cme.levels}
    memories = {
        operand: [named.get((operand, n), name) for n, name in enumerate(names)]
        for operand, names in level_names(cme.temporal_mapping).items()
    }
    return container(
        table(f"{cme.layer} ({cme.operator}) on {cme.accelerator}", PART_COLUMNS, cost_parts(cme)),
        table("Operands in memories, the innermost first", LEVEL_COLUMNS, levels, total),
        spatial_html(cme.spatial_mapping),
        nest_html(cme.temporal_mapping, memories),
    )


def result_html(result: LayerResult) -> str:
    """The cost of a layer's mapping, and how far it may be from the optimum."""
    if result.bound is None:
        return evaluation_html(result.cme)
    sentence = bound_sentence(result.bound, result.cme)
    return container(evaluation_html(result.cme), paragraph(sentence))
