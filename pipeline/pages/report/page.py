"""Builds the pages of a run, a layer and a comparison, and the report of several runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final
from uuid import UUID
from xml.etree import ElementTree

from markupsafe import Markup

from nestmap.costmodel.area_leakage import areas_of
from nestmap.costmodel.imc.array import array_areas, array_delays, peak_energies
from nestmap.model import (
    Accelerator,
    ArrayPart,
    InputError,
    LayerResult,
    MemoryLevel,
    MemoryPort,
    NetworkEvaluation,
    VectorEvaluation,
)
from nestmap.pipeline.analysis.network.memory_hierarchy import operand_names, width_text
from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.analysis.network.scatter import clouds
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of, memory_looks
from nestmap.pipeline.explore.explanation import explain
from nestmap.pipeline.explore.resume import searched_problem
from nestmap.pipeline.format import numbers
from nestmap.pipeline.format.chosen_models import chosen_models
from nestmap.pipeline.format.mappings import array_text, sizes_text, spatial_text
from nestmap.pipeline.format.numbers import area_unit
from nestmap.pipeline.format.palette import SERIES
from nestmap.pipeline.pages.report.comparison import ComparisonView, comparison, run_names
from nestmap.pipeline.pages.report.explanation import ExplainedLayer, explained_layer, front_table
from nestmap.pipeline.pages.report.layout import NOTHING, Section, comparison_document, document
from nestmap.pipeline.pages.report.provenance import Facts, facts, unfinished
from nestmap.pipeline.pages.report.render import IN_PAGE, Links, layer_anchor, render
from nestmap.pipeline.pages.report.run import ReportedRun, read_reported
from nestmap.pipeline.pages.report.stages import StageView, pipeline_stages
from nestmap.pipeline.pages.report.summary import EDP_UNIT, Summary, binding_port, edp, summary
from nestmap.pipeline.render.charts import comparison_charts, mappings_chart, run_charts
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.svg.accelerator import accelerator_svg
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import NONE
from nestmap.pipeline.render.tables.results import GAP_HINT, total_name
from nestmap.pipeline.render.tables.table import (
    Cell,
    Column,
    Row,
    Table,
    bar_column,
    number_column,
    table,
)
from nestmap.pipeline.render.text.accelerator import array_facts
from nestmap.pipeline.render.text.results import segment_text
from nestmap.store import RunKind, Store

# --- shows the accelerator: a drawing of array and memories, and tables ---

_PORTS: Final = (
    Column("Memory"),
    Column("Port"),
    Column("Kind"),
    number_column("Width", "bit/cycle"),
    Column("Allocated to", hint="operand and movement"),
)
_ARRAY_PARTS: Final = (
    Column("Part"),
    number_column("Area", "mm2"),
    number_column("Delay", "ns"),
    number_column("Peak", "pJ/cycle"),
)
_GREY: Final = "#777777"


@final
@dataclass(frozen=True, slots=True)
class Machine:
    """A drawing, a description of the array, and tables of all components."""

    name: str
    array: str
    facts: str
    drawing: Markup
    tables: tuple[Table, ...]


def machine(accelerator: Accelerator, evaluation: NetworkEvaluation) -> Machine:
    """The view of an accelerator, whose operands have the names of those of the layers."""
    names = operand_names(accelerator, cmes_of(evaluation))
    drawing = accelerator_svg(accelerator, names)
    return Machine(
        name=accelerator.name,
        array=array_text(accelerator),
        facts=" ".join(_facts(accelerator)),
        drawing=Markup(ElementTree.tostring(drawing, encoding="unicode")),
        tables=tuple(_tables(accelerator)),
    )


def _facts(accelerator: Accelerator) -> Iterator[str]:
    yield array_facts(accelerator)
    unit = accelerator.vector_unit
    if unit is not None and accelerator.vector_memory is not None:
        yield (
            f"A vector unit of {unit.lanes} lanes, {unit.operation_energy:.4g} pJ an operation, "
            f"reads from and writes to {accelerator.vector_memory.name}."
        )
    yield from chosen_models(accelerator)


def _tables(accelerator: Accelerator) -> Iterator[Table]:
    name = accelerator.name
    memories = [_memory(accelerator, level) for level in accelerator.memories]
    yield table(
        _memory_columns(accelerator), memories, caption=f"Memories of {name}, innermost first"
    )
    ports = [_port(level, port) for level in accelerator.memories for port in level.instance.ports]
    yield table(_PORTS, ports, caption=f"Ports of {name}")
    if accelerator.array.imc is not None:
        yield table(_ARRAY_PARTS, _parts(accelerator), caption=f"Parts of the array of {name}")
    areas = [x for x in areas_of(accelerator) if x.area]
    whole = sum(x.area for x in areas)
    if len(areas) > 1:
        rows = [
            (
                Cell(x.part),
                cells.plain(x.area),
                cells.share(x.area, whole),
                cells.bar(0.0, x.area, whole, _GREY),
            )
            for x in areas
        ]
        columns = (
            Column("Part"),
            number_column("Area", area_unit(accelerator.area_unit)),
            number_column("Share"),
            bar_column("Share of all"),
        )
        yield table(columns, rows, caption=f"Areas of {name}, of all instances")


def _memory_columns(accelerator: Accelerator) -> tuple[Column, ...]:
    return (
        Column("Memory"),
        Column("Holds", hint="memory operands; usually layers call I1 I, and I2 W"),
        number_column("Size", hint="of one instance"),
        number_column("Instances"),
        Column("Serves", hint="array dimensions that share an instance"),
        number_column("Read", "pJ", hint="an access of a port's full width"),
        number_column("Write", "pJ", hint="an access of a port's full width"),
        number_column("Latency", "cycles"),
        number_column("Area", f"{area_unit(accelerator.area_unit)} each"),
        number_column("Leakage", "mW each"),
    )


def _memory(accelerator: Accelerator, level: MemoryLevel) -> tuple[Cell, ...]:
    instance = level.instance
    return (
        Cell(level.name),
        Cell(", ".join(level.operands)),
        cells.capacity(instance.size),
        cells.count(accelerator.instances_of(level)),
        Cell(", ".join(level.served_dimensions) or NONE),
        cells.plain(instance.read_energy),
        cells.plain(instance.write_energy),
        cells.count(instance.latency),
        cells.plain(instance.area),
        cells.plain(instance.leakage),
    )


def _port(level: MemoryLevel, port: MemoryPort) -> tuple[Cell, ...]:
    return (
        Cell(level.name),
        Cell(port.name),
        Cell(port.kind.replace("_", "/")),
        Cell(width_text(port), repr(port.width_max)),
        Cell("; ".join(map(str, port.allocation))),
    )


def _parts(accelerator: Accelerator) -> list[tuple[Cell, ...]]:
    areas = {x.part: x.area for x in array_areas(accelerator)}
    energies = {x.part: x.energy for x in peak_energies(accelerator)}
    delays = array_delays(accelerator)
    return [
        (
            Cell(part.value),
            cells.plain(areas.get(part, 0.0)),
            cells.plain(delays.get(part, 0.0)),
            cells.plain(energies.get(part, 0.0)),
        )
        for part in ArrayPart
    ]


# --- the sortable and filterable table of layers ---

_HEADINGS: Final = (
    number_column("#", hint="position in the network"),
    Column("Layer"),
    number_column("Energy"),
    number_column("Share"),
    number_column("Latency", "cycles"),
    number_column("Share"),
    number_column("MAC util.", hint="ideal cycles over latency"),
    number_column("EDP", EDP_UNIT, hint="energy-delay product of the layer"),
    number_column("MACs"),
    Column("Waits for", hint="memory and port that make the array wait longest"),
    Column("Operator"),
    Column("Dimensions"),
    Column("Spatial mapping", hint="array dimension: loops unrolled over it"),
    number_column("Mappings", "evaluated"),
    number_column("Gap", "at most", hint=GAP_HINT),
    Column("Same as", hint="an earlier layer with the same content, mapping and cost"),
)


_LAYER_FIGURES: Final = 7
"""The columns from the energy to the multiply-accumulates."""


def layer_table(run: ReportedRun, links: Links) -> Table:
    """A row for each layer, and the total; the second cell names it."""
    sizes = {layer.name: sizes_text(layer.loops) for layer in run.network.workload.layers}
    total = run.evaluation
    energy = _Shares(total.energy, max(x.cme.energy for x in total.layers), SERIES)
    latency = _Shares(total.latency, max(x.cme.latency for x in total.layers), SERIES)
    rows = [
        Row(
            (
                cells.count(position),
                Cell(result.cme.layer, link=links.layer(run, result.cme.layer)),
                *_layer_figures(result, energy, latency),
                *cells.texts(result.cme.operator, sizes[result.cme.layer]),
                Cell(spatial_text(result.cme.spatial_mapping)),
                cells.count(result.statistics.evaluations),
                cells.gap(result.gap),
                Cell(result.repeats or ""),
            ),
            group=result.cme.operator,
            repeats=result.repeats is not None,
        )
        for position, result in enumerate(total.layers, start=1)
    ]
    rows += _infeasible_rows(total, sizes)
    vector = _vector_row(total, energy, latency)
    return Table(f"Layers of {run.title}", _HEADINGS, (*rows, *vector), Row(_total(total)), head=1)


def _infeasible_rows(total: NetworkEvaluation, sizes: Mapping[str, str]) -> list[Row]:
    """The rows of the layers without a mapping."""
    blank, none = Cell(""), Cell(cells.NONE)
    return [
        Row(
            (
                cells.count(position),
                Cell(entry.layer),
                *(none,) * (_LAYER_FIGURES + 1),
                *cells.texts(entry.operator, sizes[entry.layer], "no mapping fits"),
                *(blank, blank, Cell(entry.repeats or "")),
            ),
            group=entry.operator,
            repeats=entry.repeats is not None,
        )
        for position, entry in enumerate(total.infeasible, start=len(total.layers) + 1)
    ]


class _Shares(NamedTuple):
    """The total for shares; the largest share has the longest bar."""

    total: float
    largest: float
    color: str

    def of(self, part: float) -> Cell:
        """A share with its bar."""
        if not self.total:
            return Cell(cells.NONE)
        bar = cells.bar(0.0, min(part, self.largest), self.largest, self.color).bar
        return Cell(numbers.share(part / self.total), repr(part / self.total), bar=bar)


def _layer_figures(result: LayerResult, energy: _Shares, latency: _Shares) -> tuple[Cell, ...]:
    cme = result.cme
    return (
        cells.energy(cme.energy),
        energy.of(cme.energy),
        cells.cycles(cme.latency),
        latency.of(cme.latency),
        cells.share(cme.utilization),
        edp(cme.energy * cme.latency),
        cells.engineering(cme.macs),
        Cell(binding_port(cme) or cells.NONE),
    )


def _vector_row(total: NetworkEvaluation, energy: _Shares, latency: _Shares) -> tuple[Row, ...]:
    """The row of all vector operators, if they count."""
    if not (total.vector and total.vector_counted):
        return ()
    found = (
        cells.count(len(total.layers) + len(total.infeasible) + 1),
        Cell("vector operators"),
        cells.energy(total.vector_energy),
        energy.of(total.vector_energy),
        cells.cycles(total.vector_latency),
        latency.of(total.vector_latency),
    )
    blank = (Cell(""),) * (len(_HEADINGS) - len(found))
    return (Row((*found, *blank), group="vector"),)


def _total(total: NetworkEvaluation) -> tuple[Cell, ...]:
    blank = Cell("")
    return (
        cells.count(len(total.layers) + len(total.infeasible)),
        Cell(total_name(total)),
        cells.energy(total.energy),
        cells.share(total.energy, total.energy),
        cells.cycles(total.latency),
        cells.share(total.latency, total.latency),
        cells.share(total.utilization),
        edp(total.edp),
        cells.engineering(total.macs),
        *(blank,) * 4,
        cells.count(total.evaluations),
        cells.gap(total.gap),
        blank,
    )


# --- tables of the vector operators: by type, and individually ---

_FIGURES: Final = (
    number_column("Operations"),
    number_column("Read"),
    number_column("Written"),
    number_column("Energy"),
    number_column("Latency", "cycles"),
)


def operator_table(evaluation: NetworkEvaluation) -> Table:
    """A row for each type of operator, and the sum."""
    by_type: dict[str, list[VectorEvaluation]] = {}
    for entry in evaluation.vector:
        by_type.setdefault(entry.operator, []).append(entry)
    rows = [
        Row((Cell(name), cells.count(len(by_type[name])), *_figures(by_type[name])))
        for name in sorted(by_type)
    ]
    whole = (Cell("all"), cells.count(len(evaluation.vector)), *_figures(evaluation.vector))
    where = "counted" if evaluation.vector_counted else "not counted"
    return Table(
        f"Vector operators by type, {where} in the totals",
        (Column("Operator"), number_column("Nodes"), *_FIGURES),
        tuple(rows),
        Row(whole),
    )


def node_table(evaluation: NetworkEvaluation) -> Table:
    """A row for each operator."""
    rows = [
        (Cell(entry.node), Cell(entry.operator), *_figures([entry])) for entry in evaluation.vector
    ]
    return table(
        (Column("Node"), Column("Operator"), *_FIGURES), rows, caption="All vector operators"
    )


def _figures(entries: Sequence[VectorEvaluation]) -> tuple[Cell, ...]:
    return (
        cells.engineering(sum(entry.operations for entry in entries)),
        cells.capacity(sum(entry.bits_read for entry in entries)),
        cells.capacity(sum(entry.bits_written for entry in entries)),
        cells.energy(sum((entry.energy for entry in entries), 0.0)),
        cells.cycles(sum(entry.latency for entry in entries)),
    )


# --- builds the pages of a run, a layer and a comparison, and the report of several runs ---


@final
@dataclass(frozen=True, slots=True)
class _RunView:
    """The template's data for a run."""

    anchor: str
    title: str
    unfinished: str
    summary: Summary
    charts: tuple[Chart, ...]
    table: Table
    layers: Markup
    vector: tuple[Table, ...]
    machine: Machine
    stages: tuple[StageView, ...]
    facts: Facts


@final
@dataclass(frozen=True, slots=True)
class _Named:
    """A layer and the link to its explanation, which may be empty."""

    name: str
    link: str


@final
@dataclass(frozen=True, slots=True)
class _LayerView:
    """The template's data for a layer; mostly empty for one that ``repeats`` another."""

    anchor: str
    name: str
    first: bool
    repeats: _Named | None = None
    repeated: tuple[_Named, ...] = ()
    explained: ExplainedLayer | None = None
    fused: str = ""
    front: Table | None = None
    charts: tuple[Chart, ...] = ()


def run_body(run: ReportedRun, links: Links = IN_PAGE, layers: Markup = NOTHING) -> Markup:
    """A run without the explanations of its layers, which can be given as ``layers``."""
    network, evaluation = run.network, run.evaluation
    vector = (operator_table(evaluation), node_table(evaluation)) if evaluation.vector else ()
    view = _RunView(
        anchor=run.anchor,
        title=run.title,
        unfinished=unfinished(run),
        summary=summary(run),
        charts=run_charts(evaluation, network.accelerator),
        table=layer_table(run, links),
        layers=layers,
        vector=vector,
        machine=machine(network.accelerator, run.evaluation),
        stages=pipeline_stages(run.info.pipeline),
        facts=facts(run),
    )
    return render("run", view)


def layer_body(store: Store, run: ReportedRun, layer: str, links: Links = IN_PAGE) -> Markup:
    """The explained mapping of a layer, with the recorded mappings as a chart.

    A layer that repeats another one refers to it.

    Raises:
        InputError: if the run has no result for a layer of that name, or it was made by another
            version of the cost model.
        StoreError: if the store cannot be read.
    """
    result, anchor = run.result(layer), layer_anchor(run, layer)
    first = layer == _costliest(run)
    segment = run.evaluation.segment_of(layer)
    if segment is not None:
        view = _LayerView(anchor, layer, first, fused=segment_text(segment))
    elif result.repeats is not None:
        view = _LayerView(anchor, layer, first, _named(run, result.repeats, links))
    else:
        spatial = searched_problem(store, run.id, run.network, result)
        explanation = explain(spatial, result.cme, result.bound)
        looks = memory_looks(cmes_of(run.evaluation))
        front = run.fronts.get(layer)
        view = _LayerView(
            anchor,
            layer,
            first,
            repeated=tuple(_named(run, name, links) for name in run.repeating(layer)),
            explained=explained_layer(result, explanation, looks),
            front=front_table(front) if front else None,
            charts=_layer_charts(store, run, result),
        )
    return render("layer", view)


def _named(run: ReportedRun, layer: str, links: Links) -> _Named:
    return _Named(layer, links.layer(run, layer) if layer in run.results else "")


def _layer_charts(store: Store, run: ReportedRun, result: LayerResult) -> tuple[Chart, ...]:
    """All recorded mappings of a layer, if any."""
    layer = result.cme.layer
    tried = clouds(store.costs(run.id, layer))
    if not tried:
        return ()
    return (mappings_chart("mappings", tried, f"{layer}: mappings tried", result.cme),)


def _costliest(run: ReportedRun) -> str:
    """The layer that is shown first: the one that costs most in the objective."""
    layers = run.evaluation.layers
    return max(layers, key=lambda result: run.record.objective.of(result.cme)).cme.layer


def comparison_body(runs: Sequence[ReportedRun], links: Links = IN_PAGE) -> Markup:
    """The comparison of runs; changes are from the first one."""
    named = [
        NamedRun(name, run.evaluation) for name, run in zip(run_names(runs), runs, strict=True)
    ]
    view = ComparisonView(comparison(runs, links), comparison_charts(named))
    return render("comparison", view)


def report(store: Store, runs: Sequence[UUID]) -> str:
    """One self-contained page about the runs.

    Raises:
        StoreError: if there is no such run.
        InputError: if a run is given twice, a run has nothing to show, or runs on one core and on
            several cores are mixed.
    """
    for given in runs:
        if list(runs).count(given) > 1:
            raise InputError("runs", f"run {given} twice", "each run once")
    if are_streams(store, runs):
        from nestmap.pipeline.pages.report.multicore.page import stream_report  # noqa: PLC0415 (slow to import)
        from nestmap.pipeline.pages.report.multicore.reported_run import read_stream  # noqa: PLC0415

        return stream_report([read_stream(store, run) for run in runs])
    found = [read_reported(store, run) for run in runs]
    bodies = [whole_run(store, run) for run in found]
    if len(found) == 1:
        return document(found[0].title, bodies[0])
    sections = map(Section, [run.anchor for run in found], run_names(found), bodies)
    title = f"{len(found)} runs compared"
    return comparison_document(title, comparison_body(found), tuple(sections))


def are_streams(store: Store, runs: Sequence[UUID]) -> bool:
    """Whether the runs are on several cores.

    Raises:
        StoreError: if there is no such run.
        InputError: if runs on one core and on several cores are mixed.
    """
    kinds = [store.run(run).kind for run in runs]
    for run, kind in zip(runs, kinds, strict=True):
        if kind is not kinds[0]:
            what = {RunKind.EXPLORE: "one core", RunKind.STREAM: "several cores"}
            found, expected = what[kind], what[kinds[0]]
            raise InputError(f"run {run}", f"a run on {found}", f"one on {expected}, as the first")
    return kinds[0] is RunKind.STREAM


def whole_run(store: Store, run: ReportedRun) -> Markup:
    """A run with the explanations of all its layers.

    Raises:
        InputError: if it was made by another version of the cost model.
        StoreError: if the store cannot be read.
    """
    layers = Markup("\n").join(layer_body(store, run, layer) for layer in run.results)
    return run_body(run, layers=layers)
