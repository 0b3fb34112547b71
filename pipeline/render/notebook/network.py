"""Shows the results of all layers of a network, and the Pareto fronts of layers."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final

from nestmap.model.evaluation.front import LayerFront, NetworkFront
from nestmap.model.evaluation.result import NetworkEvaluation
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.render.notebook.markup import MOST_ROWS, container, cut_note, table
from nestmap.pipeline.render.tables.results import (
    MAPPING_COLUMNS,
    TIMES,
    layer_figures,
    mapping_cells,
    repeat_counts,
    result_columns,
    total_figures,
    total_name,
    vector_figures,
)
from nestmap.pipeline.render.tables.table import Column
from nestmap.pipeline.render.text.gap import front_gap_note

_NAMES: Final = (Column("Layer"), Column("Operator"), TIMES)
_FRONT: Final = (Column("Layer"), TIMES, *MAPPING_COLUMNS)


def network_html(evaluation: NetworkEvaluation, caption: str = "Best mappings") -> str:
    """A row for each distinct layer, one for vector operators, and the sum."""
    results = [x for x in evaluation.layers if x.repeats is None]
    failed = [x for x in evaluation.infeasible if x.repeats is None]
    times = repeat_counts(evaluation)
    rows = [
        (x.cme.layer, x.cme.operator, n, *layer_figures(evaluation, x))
        for x, n in islice(zip(results, times, strict=False), MOST_ROWS)
    ]
    rows += [
        (x.layer, x.operator, n, *_blank(evaluation))
        for x, n in zip(failed, times[len(results) :], strict=True)
    ]
    counted = "" if evaluation.vector_counted else " (not in the total)"
    if evaluation.vector:
        name, number = f"vector operators{counted}", count(len(evaluation.vector))
        rows.append((name, "", number, *vector_figures(evaluation)))
    layers = len(evaluation.layers) + len(evaluation.infeasible)
    total = (total_name(evaluation), "", count(layers), *total_figures(evaluation))
    note = cut_note(len(results), "different layers")
    return container(table(caption, (*_NAMES, *result_columns(evaluation)), rows, total, note))


def _blank(evaluation: NetworkEvaluation) -> tuple[str, ...]:
    """The cells of a layer without a mapping."""
    return ("no mapping fits", *("-",) * (len(result_columns(evaluation)) - 1))


def front_html(fronts: Sequence[LayerFront], caption: str = "Energy against latency") -> str:
    """A row for each mapping on the Pareto front of each distinct layer, by rising energy."""
    times = Counter(front.repeats or front.layer for front in fronts)
    different = [front for front in fronts if front.repeats is None] or fronts
    points = [(x.layer, times[x.repeats or x.layer], cme) for x in different for cme in x.cmes]
    rows = [(name, count(n), *mapping_cells(cme)) for name, n, cme in points[:MOST_ROWS]]
    notes = filter(None, (cut_note(len(points), "mappings"), front_gap_note(different)))
    return container(table(caption, _FRONT, rows, note=" ".join(notes)))


def layer_front_html(front: LayerFront) -> str:
    """The Pareto front of one layer."""
    return front_html((front,))


def network_front_html(front: NetworkFront) -> str:
    """The Pareto fronts of all layers."""
    return front_html(front.layers)
