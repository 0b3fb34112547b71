"""Builds the pages of a run, a layer and a comparison, and the report of several runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final
from uuid import UUID
from xml.etree import ElementTree

from markupsafe import Markup

from nestmap.model import Accelerator, InputError, LayerFront, LayerResult, NetworkEvaluation
from nestmap.pipeline.analysis.network.memory_hierarchy import operand_names
from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.analysis.network.scatter import clouds
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of, memory_looks
from nestmap.pipeline.explore.explanation import explain
from nestmap.pipeline.explore.resume import searched_problem
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.pages.report.comparison import ComparisonView, comparison, run_names
from nestmap.pipeline.pages.report.explanation import ExplainedLayer, explained_layer
from nestmap.pipeline.pages.report.layout import NOTHING, Section, comparison_document, document
from nestmap.pipeline.pages.report.provenance import Facts, facts, unfinished
from nestmap.pipeline.pages.report.render import IN_PAGE, Links, layer_anchor, render
from nestmap.pipeline.pages.report.run import ReportedRun, read_reported
from nestmap.pipeline.pages.report.stages import StageView, pipeline_stages
from nestmap.pipeline.pages.report.summary import Summary, summary
from nestmap.pipeline.render.charts import comparison_charts, mappings_chart, run_charts
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.svg.accelerator import accelerator_svg
from nestmap.pipeline.render.tables.accelerator import (
    area_table,
    memory_table,
    part_table,
    port_table,
)
from nestmap.pipeline.render.tables.mapping import front_table
from nestmap.pipeline.render.tables.network import layer_table, node_table, operator_table
from nestmap.pipeline.render.tables.table import Table
from nestmap.pipeline.render.text.accelerator import machine_facts
from nestmap.pipeline.render.text.gap import front_gap_note
from nestmap.pipeline.render.text.results import segment_text
from nestmap.store import RunKind, Store

# --- shows the accelerator: a drawing of array and memories, and tables ---


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
        facts=" ".join(machine_facts(accelerator)),
        drawing=Markup(ElementTree.tostring(drawing, encoding="unicode")),
        tables=tuple(_tables(accelerator)),
    )


def _tables(accelerator: Accelerator) -> Iterator[Table]:
    yield memory_table(accelerator)
    yield port_table(accelerator)
    if accelerator.array.imc is not None:
        yield part_table(accelerator)
    areas = area_table(accelerator)
    if len(areas.rows) > 1:
        yield areas


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
        table=layer_table(
            evaluation,
            network.workload.layers,
            f"Layers of {run.title}",
            lambda layer: links.layer(run, layer),
        ),
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
            front=_front_table(front) if front else None,
            charts=_layer_charts(store, run, result),
        )
    return render("layer", view)


def _front_table(front: LayerFront) -> Table:
    caption = f"Pareto front of the mappings found for {front.layer}"
    note = front_gap_note((front,))
    return front_table((front,), f"{caption}. {note}" if note else caption)


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
