"""Views of models and results in notebooks, and the registration of all of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Never, cast

from nestmap.model.dims import LayerOperand
from nestmap.model.display import view
from nestmap.model.evaluation.cme import CostModelEvaluation
from nestmap.model.evaluation.front import LayerFront, NetworkFront
from nestmap.model.evaluation.result import LayerResult, NetworkEvaluation
from nestmap.model.hardware.accelerator import Accelerator, OperationalArray
from nestmap.model.hardware.imc import InMemoryCompute
from nestmap.model.hardware.memory import MemoryLevel, MemoryPort
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.mapping.temporal import TemporalMapping
from nestmap.model.multicore.schedule import AllocationSearch, Schedule
from nestmap.model.workload.graph import Workload
from nestmap.model.workload.layer import Layer, Operand
from nestmap.pipeline.describe import StageDescription, describe
from nestmap.pipeline.format.chosen_models import chosen_models
from nestmap.pipeline.format.mappings import (
    array_text,
    bits_text,
    precisions_text,
    sizes_text,
    unrolled_text,
)
from nestmap.pipeline.format.numbers import capacity, count, energy, engineering
from nestmap.pipeline.render.notebook.markup import (
    MOST_ROWS,
    Cell,
    container,
    cut_note,
    paragraph,
    table,
    text,
)
from nestmap.pipeline.render.notebook.network import (
    layer_front_html,
    network_front_html,
    network_html,
)
from nestmap.pipeline.render.notebook.schedule import schedule_html, search_html
from nestmap.pipeline.render.tables.breakdown import (
    LEVEL_COLUMNS,
    PART_COLUMNS,
    cost_parts,
    level_cells,
)
from nestmap.pipeline.render.tables.results import (
    MEMORY_COLUMNS,
    memory_cells,
    memory_cost_cells,
    memory_cost_columns,
    memory_costs_note,
    nest_columns,
    nest_rows,
)
from nestmap.pipeline.render.tables.table import Align, Column, number_column
from nestmap.pipeline.render.text.gap import bound_sentence
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
    return table(relation.size_text(MOST_ROWS), columns, rows)


# --- shows spatial and temporal mappings as tables ---

_UNROLLINGS: Final = (Column("Array dimension"), Column("Loops"), number_column("Units used"))


def spatial_html(mapping: SpatialMapping) -> str:
    """A row for each dimension of the array."""
    rows = [(x.array_dimension, unrolled_text(x), count(x.factor)) for x in mapping.unrollings]
    return table("Spatial mapping", _UNROLLINGS, rows)


def temporal_html(mapping: TemporalMapping) -> str:
    """The loop nest; memories are numbered, since a mapping does not name them."""
    return nest_html(mapping, level_names(mapping))


def level_names(mapping: TemporalMapping) -> dict[LayerOperand, list[str]]:
    """Placeholder names for the memories of each operand."""
    levels = {cuts.operand: len(cuts.positions) for cuts in mapping.cuts}
    return {operand: [f"level {n}" for n in range(top)] for operand, top in levels.items()}


def nest_html(mapping: TemporalMapping, memories: Mapping[LayerOperand, Sequence[str]]) -> str:
    """The loop nest; ``memories`` are those of each operand, innermost first."""
    caption = f"Temporal mapping, the outermost loop first: {count(mapping.cycles)} iterations"
    return table(caption, nest_columns(list(memories)), nest_rows(mapping, memories))


# --- shows workloads and layers as tables ---

_LAYERS: Final = (
    Column("Layer"),
    Column("Operator"),
    Column("Sizes"),
    Column("Bits of an element"),
    number_column("MACs"),
)
_OPERANDS: Final = (
    Column("Operand"),
    Column("Element"),
    number_column("Elements"),
    number_column("Bits", "an element"),
    number_column("Size"),
    Column("From"),
)


def workload_html(workload: Workload) -> str:
    """A row for each layer, the sum, and the other operators."""
    layers = workload.layers
    total = (f"{count(len(layers))} layers", "", "", "", engineering(workload.macs))
    return container(
        table(
            f"Workload {workload.name}",
            _LAYERS,
            [_layer(layer) for layer in layers[:MOST_ROWS]],
            total,
            cut_note(len(layers), "layers"),
        ),
        *(paragraph(note) for note in _others(workload)),
    )


def layer_html(layer: Layer) -> str:
    """The loops and a row for each operand."""
    sizes = ", ".join(str(loop) for loop in layer.loops)
    return container(
        table(
            f"Layer {layer.name} ({layer.operator}): {layer.equation}",
            _OPERANDS,
            [_operand(layer, operand) for operand in layer.operands],
        ),
        paragraph(f"Loops: {sizes}; {engineering(layer.macs)} MACs."),
    )


def _layer(layer: Layer) -> tuple[str, ...]:
    sizes, bits = sizes_text(layer.loops), precisions_text(layer)
    return layer.name, layer.operator, sizes, bits, engineering(layer.macs)


def _others(workload: Workload) -> list[str]:
    """Sentences on the operators that are not layers."""
    vector = workload.vector_nodes
    operations = engineering(sum(node.total_operations for node in vector))
    counts = workload.no_cost_operators
    notes: list[str] = []
    if vector:
        counted = _counted([node.operator for node in vector])
        notes.append(f"Vector operators: {counted}; {operations} operations.")
    if counts:
        named = ", ".join(f"{name} {count(n)}" for name, n in sorted(counts.items()))
        notes.append(f"At no cost: {named}.")
    return notes


def _counted(operators: Sequence[str]) -> str:
    return ", ".join(f"{name} {count(operators.count(name))}" for name in sorted(set(operators)))


def _operand(layer: Layer, operand: Operand) -> tuple[str, ...]:
    elements = layer.elements(operand.name)
    return (
        operand.name,
        operand.name + "".join(f"[{index}]" for index in operand.indices),
        count(elements),
        bits_text(operand),
        capacity(elements * operand.precision),
        _origin(layer, operand),
    )


def _origin(layer: Layer, operand: Operand) -> str:
    if operand is layer.output:
        return f"this layer; partial sums of {layer.output.partial_precision} bit"
    read = next(entry for entry in layer.inputs if entry is operand)
    return "weights" if read.constant else read.source or "outside"


# --- shows an accelerator: a table of its memories and a description of its array ---

_PORTS: Final = Column("Ports", "bit/cycle")


def accelerator_html(accelerator: Accelerator) -> str:
    """The array, a row for each memory, innermost first, and the vector unit."""
    return container(
        table(
            f"Accelerator {accelerator.name}: {array_text(accelerator)}",
            (*MEMORY_COLUMNS, _PORTS, *memory_cost_columns(accelerator)),
            [_memory(accelerator, level) for level in accelerator.memories],
            note=" ".join((*_facts(accelerator), memory_costs_note(accelerator))),
        )
    )


def _memory(accelerator: Accelerator, level: MemoryLevel) -> tuple[Cell, ...]:
    ports = tuple(_port(port) for port in level.instance.ports)
    return (*memory_cells(accelerator, level), ports, *memory_cost_cells(level.instance))


def _port(port: MemoryPort) -> str:
    least, most = count(port.width_min), count(port.width_max)
    width = most if least == most else f"{least} to {most}"
    operands = " ".join(dict.fromkeys(use.operand for use in port.allocation)) or "nothing"
    return f"{port.name} ({port.kind.value}) {width}: {operands}"


def _facts(accelerator: Accelerator) -> Iterator[str]:
    array, unit = accelerator.array, accelerator.vector_unit
    yield _in_memory(array, array.imc) if array.imc else _units(array)
    if array.systolic_dimensions:
        yield f"Systolic along {', '.join(array.systolic_dimensions)}."
    if unit is not None:
        yield (
            f"Vector unit of {count(unit.lanes)} lanes, {unit.operation_energy:.4g} pJ an "
            "operation."
        )
    yield from chosen_models(accelerator)


def _units(array: OperationalArray) -> str:
    clock = "" if array.clock_period is None else f", clock period {array.clock_period:.4g} ns"
    return f"A multiply-accumulate takes {array.unit_energy:.4g} pJ{clock}."


def _in_memory(array: OperationalArray, imc: InMemoryCompute) -> str:
    sizes = array.imc_sizes
    banks = "1 bank" if sizes.banks == 1 else f"{count(sizes.banks)} banks"
    return (
        f"Computes in memory, {imc.kind.value}: {count(sizes.columns)} columns x "
        f"{count(sizes.rows)} rows x {banks}, activations of "
        f"{imc.activation_precision} bit, {imc.bit_serial_precision} a cycle, weights of "
        f"{imc.weight_precision} bit; {imc.technology:.4g} nm at {imc.supply_voltage:.4g} V."
    )


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


# --- shows the cost of a layer's mapping: components, memories, loop nest ---


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


# --- shows a run of a store as a table of its properties ---


def run_html(run: RunRecord) -> str:
    """A row for each property."""
    rows = [(name.replace("_", " "), _value_text(value)) for name, value in run]
    return table(f"Run {run.id}", (Column("Property"), Column("Value")), rows)


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
