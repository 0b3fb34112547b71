"""Draws the pictures of the documents, from mappings that are found and evaluated.

``python docs/pictures.py`` writes them to docs/images.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final
from xml.etree import ElementTree as ET

from nestmap import conv2d, explore, network, stream, stream_plan
from nestmap.costmodel.evaluate import evaluate, factor_table
from nestmap.costmodel.evaluate_rows import evaluate_row, load_row
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import WR_HIGH, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.ports import port_transfers
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Layer,
    LayerConstraints,
    Loop,
    MappingBatch,
    MappingConstraints,
    MappingProblem,
    MappingType,
    PortKind,
    Relevance,
    SpatialMapping,
    SpatialProblem,
    Unrolling,
    Workload,
)
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.render.charts import Chart, run_charts
from nestmap.pipeline.render.charts.schedule.gantt import gantt_charts
from nestmap.pipeline.render.svg.accelerator import accelerator_picture
from nestmap.pipeline.render.svg.elements import add_text
from nestmap.pipeline.render.svg.loops import Picture, loops_picture, picture_of

IMAGES: Final = Path(__file__).parent / "images"
MACHINE: Final = IMAGES / "small.yaml"

_CYCLE: Final = 13.0
"""The width of a cycle (pixels)."""

_STYLE: Final = """\
text { font: 13px sans-serif; fill: #222222; }
.bold { font-weight: bold; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.muted { fill: #555555; }
.white { fill: white; font-size: 12px; }
"""
_COLOURS: Final = {
    Relevance.RELEVANT: ("#0072B2", "#ffffff", "r"),
    Relevance.PARTIALLY_RELEVANT: ("#56B4E9", "#222222", "pr"),
    Relevance.IRRELEVANT: ("#eeeeee", "#222222", "ir"),
}
_MEANINGS: Final = (
    "r: relevant, another word",
    "pr: partially relevant, words overlap",
    "ir: irrelevant, the same words again",
)
_ARRAY: Final = "#009E73"
_PORT: Final = "#0072B2"
_WAIT: Final = "#D55E00"


def the_layer() -> Layer:
    """A convolution: 16 to 32 channels, 14 by 14 outputs, a kernel of 3 by 3."""
    (layer,) = the_network().layers
    return layer


def the_network() -> Workload:
    """The layer, alone."""
    return network("pictures", conv2d("conv", (1, 16, 14, 14), (32, 16, 3, 3), padding=1))


def best(mapping_type: MappingType) -> CostModelEvaluation:
    """The mapping of the layer with the least energy, output channels beside input channels."""
    unrollings = (("D1", "K"), ("D2", "C"))
    spatial = SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=side, loops=(Loop(dimension=dimension, size=4),))
            for side, dimension in unrollings
        )
    )
    fixed = LayerConstraints(target="default", spatial_mapping=spatial)
    found = explore(
        the_network(),
        MACHINE,
        MappingConstraints(entries=(fixed,)),
        search="loma",
        objective="energy",
        lpf_limit=8,
        mapping_type=mapping_type,
    )
    return found.layers[0].cme


def relevance_picture(layer: Layer) -> Picture:
    """Operands by loop dimensions: relevant, partially relevant, irrelevant; reuse on the right."""
    loops = [loop for loop in layer.loops if loop.size > 1]
    root = canvas("The loops to which each operand is relevant", 60 * len(loops) + 330, 230)
    for column, loop in enumerate(loops):
        add_text(root, f"{loop.dimension} {loop.size}", (90 + 60 * column, 30), "bold middle")
    right = 70 + 60 * len(loops)
    add_text(root, "words", (right + 60, 30), "muted end")
    add_text(root, "used each", (right + 180, 30), "muted end")
    for row, operand in enumerate(layer.operands):
        y = 50 + 46 * row
        add_text(root, operand.name, (40, y + 24), "bold end")
        for column, loop in enumerate(loops):
            colour, ink, short = _COLOURS[layer.relevance(operand.name, loop.dimension)]
            fill(root, (62 + 60 * column, y, 56, 38), colour)
            add_text(root, short, (90 + 60 * column, y + 24), "middle").set("style", f"fill: {ink}")
        words = layer.elements(operand.name)
        add_text(root, f"{words:,}", (right + 60, y + 24), "end")
        add_text(root, f"{layer.macs / words:,.0f} times", (right + 180, y + 24), "end")
    for row, meaning in enumerate(_MEANINGS):
        add_text(root, meaning, (62 + 165 * row + 45 * (row > 1), 215), "muted")
    return picture_of("relevance", root)


@final
@dataclass(frozen=True)
class Refill:
    """How weights come into the registers: cycles of a period, of the window, and that it takes."""

    period: float
    allowed: float
    needed: float
    stall: float
    latency: float

    @property
    def late(self) -> float:
        """Cycles that the array waits in each period."""
        return max(0.0, self.needed - self.allowed)


def refill(machine: Accelerator, cme: CostModelEvaluation) -> Refill:
    """The same mapping on a machine: when the registers are filled, and how long that takes."""
    mapping = MappingProblem(layer=the_layer(), accelerator=machine)
    spatial = SpatialProblem(problem=mapping, spatial_mapping=cme.spatial_mapping)
    problem, work = flatten(spatial), new_record(Work)
    batch = MappingBatch.of(spatial, cme.temporal_mapping)
    load_row(work, factor_table(spatial, batch.factors), batch.orders[0], batch.cuts[0])
    evaluate_row(problem, work)
    weights = [operand.name for operand in the_layer().operands].index("W")
    at = [(t.operand, t.level, t.movement) for t in port_transfers(mapping)].index(
        (weights, 1, WR_HIGH)
    )
    again = evaluate(spatial, cme.temporal_mapping)
    return Refill(
        period=float(work.cycles[weights, 1]),
        allowed=float(work.allowed[at]),
        needed=float(work.needed[at]),
        stall=again.stall,
        latency=again.latency,
    )


def with_registers(machine: Accelerator, width: int, weights: int) -> Accelerator:
    """The machine with registers of that many weights, written that many bits a cycle."""
    registers = machine.memories[0]
    ports = tuple(
        port.model_copy(update={"width_min": width, "width_max": width})
        if port.kind is PortKind.WRITE
        else port
        for port in registers.instance.ports
    )
    instance = registers.instance.model_copy(update={"ports": ports, "size": 8 * weights})
    changed = registers.model_copy(update={"instance": instance})
    return machine.model_copy(update={"memories": (changed, *machine.memories[1:])})


def stall_picture(cme: CostModelEvaluation) -> Picture:
    """Three machines that fill a register: in time, too slowly, slowly but ahead of time."""
    machine = read_accelerator(MACHINE)
    cases = (
        ("8 bit a cycle, room for 1 weight", refill(with_registers(machine, 8, 1), cme)),
        ("2 bit a cycle, room for 1 weight", refill(with_registers(machine, 2, 1), cme)),
        ("2 bit a cycle, room for 2 weights", refill(with_registers(machine, 2, 2), cme)),
    )
    end = max(3 * (case.period + case.late) for _, case in cases)
    root = canvas("Cycles in which the array computes and waits", _CYCLE * end + 40, 400)
    for i, (title, case) in enumerate(cases):
        add_case(root, 20 + 118 * i, title, case)
    meanings = ("array computes", "array waits", "port writes the next weight")
    for i, (colour, text) in enumerate(zip((_ARRAY, _WAIT, _PORT), meanings, strict=True)):
        fill(root, (20 + 180 * i, 372, 14, 14), colour)
        add_text(root, text, (40 + 180 * i, 384), "")
    return picture_of("stalls", root)


def add_case(root: ET.Element, top: float, title: str, case: Refill) -> None:
    """Three periods of one machine: the array above, the port below."""
    add_text(root, title, (20, top + 14), "bold")
    stall = f"stall {case.stall:,.0f} of {case.latency:,.0f} cycles"
    add_text(root, stall, (20 + 3 * _CYCLE * (case.period + case.late), top + 14), "muted end")
    ahead = case.allowed >= case.period
    at = 0.0
    for _ in range(3):
        x, width = 20 + _CYCLE * at, _CYCLE * case.period
        fill(root, (x, top + 26, width - 2, 34), _ARRAY)
        label = f"{case.period:g} cycles, one weight"
        add_text(root, label, (x + width / 2, top + 47), "middle white")
        start = at if ahead else at + case.period - case.allowed
        fill(root, (20 + _CYCLE * start, top + 64, _CYCLE * case.needed - 2, 26), _PORT)
        if case.late:
            fill(root, (x + width, top + 26, _CYCLE * case.late - 2, 34), _WAIT)
            middle = x + width + _CYCLE * case.late / 2
            add_text(root, f"{case.late:g}", (middle, top + 47), "middle white")
        at += case.period + case.late


def canvas(title: str, width: float, height: float) -> ET.Element:
    """An empty picture."""
    size = {"width": f"{width:g}", "height": f"{height:g}"}
    view = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width:g} {height:g}"}
    root = ET.Element("svg", {**view, **size})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "style").text = _STYLE
    ET.SubElement(root, "rect", {**size, "fill": "white"})
    return root


def fill(root: ET.Element, box: tuple[float, float, float, float], colour: str) -> None:
    """Fills a rectangle: left, top, width and height."""
    names = ("x", "y", "width", "height")
    place = {name: f"{value:g}" for name, value in zip(names, box, strict=True)}
    ET.SubElement(root, "rect", {**place, "fill": colour})


def charts_of_a_run() -> dict[str, Chart | Picture]:
    """What ``nestmap plot`` draws of the run that the pages show."""
    machine = read_accelerator("tpu_like")
    total = explore("light:squeezenet", machine, "tpu_like").total
    charts = {chart.name: chart for chart in run_charts(total, machine)}
    return {
        **{f"see-{x}.svg": charts[x] for x in ("energy", "latency", "memories", "roofline")},
        "see-accelerator.svg": accelerator_picture(machine),
    }


def charts_of_schedules() -> dict[str, Chart | Picture]:
    """SqueezeNet on four cores, layer by layer and with every layer in four parts."""
    plan = stream_plan(individuals=16, generations=8, rule="critical")
    whole = stream("light:squeezenet", "quad_tpu", plan=plan)
    rows = stream("light:squeezenet", "quad_tpu", hint_loops=[("OY", 4)], plan=plan)
    charts = gantt_charts(
        [
            ("Layer by layer", whole.schedule),
            ("Each layer in four parts along its rows", rows.schedule),
        ]
    )
    return {f"see-{chart.name}.svg": chart for chart in charts}


def drawn() -> dict[str, Chart | Picture]:
    """All pictures by the names of their files."""
    uneven, even = best(MappingType.UNEVEN), best(MappingType.EVEN)
    return {
        "concept-loop-nest.svg": loops_picture(uneven),
        "concept-relevance.svg": relevance_picture(the_layer()),
        "concept-even.svg": loops_picture(even),
        "concept-stalls.svg": stall_picture(uneven),
        **charts_of_a_run(),
        **charts_of_schedules(),
    }


def draw(folder: Path) -> None:
    """Draws them into a folder."""
    for name, each in drawn().items():
        each.save(folder / name)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
