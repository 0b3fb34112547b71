"""Views of models and results in notebooks, and the registration of all of them."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Never, cast

from nestmap.model.display import view
from nestmap.model.evaluation.cme import CostModelEvaluation
from nestmap.model.evaluation.front import LayerFront, NetworkFront
from nestmap.model.evaluation.result import LayerResult, NetworkEvaluation
from nestmap.model.hardware.accelerator import Accelerator
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.mapping.temporal import TemporalMapping
from nestmap.model.multicore.accelerator import ComputeCore, MultiCoreAccelerator
from nestmap.model.multicore.schedule import AllocationSearch, Schedule
from nestmap.model.workload.graph import Workload
from nestmap.model.workload.layer import Layer
from nestmap.pipeline.analysis.network.workload_summary import layer_groups
from nestmap.pipeline.describe import StageDescription, describe
from nestmap.pipeline.format.numbers import engineering
from nestmap.pipeline.render.notebook.markup import (
    MOST_ROWS,
    container,
    paragraph,
    table_html,
    text,
)
from nestmap.pipeline.render.notebook.network import front_html, network_html
from nestmap.pipeline.render.notebook.schedule import schedule_html, search_html
from nestmap.pipeline.render.tables.accelerator import memory_costs_note, memory_table, port_table
from nestmap.pipeline.render.tables.cores import connection_table, kind_table, kinds_of
from nestmap.pipeline.render.tables.mapping import (
    cost_table,
    level_table,
    nest_table,
    spatial_table,
)
from nestmap.pipeline.render.tables.table import Align, Column, table
from nestmap.pipeline.render.tables.workload import group_table, operand_table, vector_table
from nestmap.pipeline.render.text.accelerator import machine_facts
from nestmap.pipeline.render.text.gap import bound_sentence
from nestmap.pipeline.render.text.multicore import machine_sentence
from nestmap.pipeline.render.text.workload import operator_notes
from nestmap.pipeline.stage_graph import MainStage, Stage
from nestmap.store import RunRecord
from nestmap.store.read.relation import Relation, cell_text, is_number

# --- shows the first rows of a query result ---

_WIDEST: Final = 80
"""The maximum number of characters in a cell."""


def relation_html(relation: Relation) -> str:
    """The first rows."""
    if not relation.columns:
        return paragraph("No columns.")
    sides = (Align.RIGHT if is_number(x.type) else Align.LEFT for x in relation.table.columns)
    pairs = zip(relation.columns, sides, strict=True)
    columns = [Column(name, align=side) for name, side in pairs]
    head = Relation(relation.table.slice(0, MOST_ROWS))
    rows = ([cell_text(x, _WIDEST) for x in row.values()] for row in head)
    return table_html(table(columns, rows, caption=relation.size_text(MOST_ROWS)))


# --- shows networks, layers, accelerators, mappings as tables ---


def workload_html(workload: Workload) -> str:
    """A row for each distinct layer and the sum; and the other operators."""
    groups, name = layer_groups(workload.layers), f"Workload {workload.name}"
    vectors = [table_html(vector_table(workload))] if workload.vector_nodes else []
    notes = operator_notes(workload)
    return container(table_html(group_table(groups, name), *notes), *vectors)


def layer_html(layer: Layer) -> str:
    """The loops and a row for each operand."""
    sizes = ", ".join(str(loop) for loop in layer.loops)
    loops = f"Loops: {sizes}; {engineering(layer.macs)} MACs."
    return container(table_html(operand_table(layer), loops))


def accelerator_html(accelerator: Accelerator) -> str:
    """A row for each memory, innermost first, and for each port; sentences about the array."""
    notes = (" ".join(machine_facts(accelerator)), memory_costs_note(accelerator))
    return container(
        table_html(memory_table(accelerator), *notes), table_html(port_table(accelerator))
    )


def machine_html(machine: MultiCoreAccelerator) -> str:
    """A row for each kind of core and for each channel, then the memories of each kind."""
    kinds = [cores[0] for cores in kinds_of(machine)]
    memories = [memory_table(x.accelerator) for x in kinds if isinstance(x, ComputeCore)]
    tables = (kind_table(machine), connection_table(machine), *memories)
    return container(paragraph(machine_sentence(machine)), *map(table_html, tables))


def spatial_html(mapping: SpatialMapping) -> str:
    """A row for each dimension of the array."""
    return table_html(spatial_table(mapping))


def temporal_html(mapping: TemporalMapping) -> str:
    """The loop nest; memories are numbered, since a mapping does not name them."""
    return table_html(nest_table(mapping))


def evaluation_html(cme: CostModelEvaluation) -> str:
    """Tables of energy and latency, every operand at every memory level, and the mapping."""
    tables = (
        cost_table(cme),
        level_table(cme),
        spatial_table(cme.spatial_mapping),
        nest_table(cme.temporal_mapping, cme),
    )
    return container(*map(table_html, tables))


def result_html(result: LayerResult) -> str:
    """The cost of a layer's mapping, and how far it may be from the optimum."""
    if result.bound is None:
        return evaluation_html(result.cme)
    sentence = bound_sentence(result.bound, result.cme)
    return container(evaluation_html(result.cme), paragraph(sentence))


def layer_front_html(front: LayerFront) -> str:
    """The Pareto front of one layer."""
    return front_html((front,))


def network_front_html(front: NetworkFront) -> str:
    """The Pareto fronts of all layers."""
    return front_html(front.layers)


# --- shows a pipeline as nested lists: stages, their options, inner stages ---

_LONGEST: Final = 200


def pipeline_html(pipeline: Stage[Never, object]) -> str:
    """The stages in sequence; the inner stages that run on each item are indented."""
    return container(_list(describe(pipeline)))


def main_html(main: MainStage[Never, object]) -> str:
    """The stages of its pipeline."""
    return pipeline_html(main.pipeline)


def _list(stages: Sequence[StageDescription]) -> str:
    items = "".join(f"<li>{_stage(stage)}</li>" for stage in stages)
    return f"<ol>{items}</ol>"


def _stage(stage: StageDescription) -> str:
    options = f" {text(_options(stage.options))}" if stage.options != "{}" else ""
    inner = _list(stage.inner) if stage.inner else ""
    return f"<code>{text(stage.name)}</code>{options}{inner}"


def _options(given: str) -> str:
    """The options of a stage that are set: ``lpf_limit 6, workers 2``."""
    options = cast("dict[str, object]", json.loads(given))
    said = (f"{name} {_value(value)}" for name, value in options.items() if value is not None)
    line = ", ".join(said)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# --- shows a run of a store as a table of its properties ---


def run_html(run: RunRecord) -> str:
    """A row for each property."""
    rows = [(name.replace("_", " "), _value_text(value)) for name, value in run]
    columns = (Column("Property"), Column("Value"))
    return table_html(table(columns, rows, caption=f"Run {run.id}"))


def _value_text(value: object) -> str:
    match value:
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S} UTC"
        case float():
            return f"{value:.1f}"
        case _:
            return "-" if value is None else str(value)


view.register(Workload, workload_html)
view.register(Layer, layer_html)
view.register(Accelerator, accelerator_html)
view.register(MultiCoreAccelerator, machine_html)
view.register(SpatialMapping, spatial_html)
view.register(TemporalMapping, temporal_html)
view.register(CostModelEvaluation, evaluation_html)
view.register(LayerResult, result_html)
view.register(NetworkEvaluation, network_html)
view.register(LayerFront, layer_front_html)
view.register(NetworkFront, network_front_html)
view.register(Schedule, schedule_html)
view.register(AllocationSearch, search_html)
view.register(Relation, relation_html)
view.register(RunRecord, run_html)
view.register(Stage, pipeline_html)
view.register(MainStage, main_html)
