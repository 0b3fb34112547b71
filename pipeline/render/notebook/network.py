"""Shows the results of all layers of a network, and the Pareto fronts of layers."""

from collections.abc import Sequence

from nestmap.model.evaluation.front import LayerFront
from nestmap.model.evaluation.result import NetworkEvaluation
from nestmap.pipeline.render.notebook.markup import container, table_html
from nestmap.pipeline.render.tables.mapping import front_table
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.gap import front_gap_note
from nestmap.pipeline.render.text.network import infeasible_notes
from nestmap.pipeline.render.text.results import vector_note


def network_html(evaluation: NetworkEvaluation, caption: str = "Best mappings") -> str:
    """A row for each distinct layer and the sum; vector operators, and what has no mapping."""
    notes = (vector_note(evaluation), *infeasible_notes(evaluation.infeasible))
    return container(table_html(layer_table(evaluation, caption=caption), *notes))


def front_html(fronts: Sequence[LayerFront], caption: str = "Energy against latency") -> str:
    """A row for each mapping on the Pareto front of each distinct layer, by rising energy."""
    different = [front for front in fronts if front.repeats is None] or fronts
    return container(table_html(front_table(fronts, caption), front_gap_note(different)))
