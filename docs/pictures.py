"""Draws the pictures of the documents, from mappings that are found and evaluated.

``python docs/pictures.py`` writes them to docs/images.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from nestmap import conv2d, explore, network, stream, stream_plan
from nestmap.costmodel.evaluate import evaluate, factor_table
from nestmap.costmodel.evaluate_rows import evaluate_row, load_row
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.axes import WR_HIGH
from nestmap.costmodel.kernel.record import new_record
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
from nestmap.pipeline.render.figures import (
    NamedSchedule,
    accelerator_figure,
    layers_figure,
    loops_figure,
    memories_figure,
    roofline_figure,
    save,
    schedules_figure,
)
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import new_figure, styled

IMAGES: Final = Path(__file__).parent / "images"
MACHINE: Final = IMAGES / "small.yaml"

_INK: Final = "#222222"
_MUTED: Final = "#555555"
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


@styled()
def relevance_figure(layer: Layer) -> Figure:
    """Operands by loop dimensions: relevant, partially relevant, irrelevant; reuse on the right."""
    loops = [loop for loop in layer.loops if loop.size > 1]
    figure, draw = _canvas(7.2, 2.3, (len(loops) + 4.2, 4.6))
    for column, loop in enumerate(loops):
        draw.text(
            column + 1.5,
            0.3,
            f"{loop.dimension} {loop.size}",
            ha="center",
            va="center",
            fontweight="bold",
        )
    draw.text(len(loops) + 1.9, 0.3, "words", ha="center", va="center", color=_MUTED)
    draw.text(len(loops) + 3.3, 0.3, "used each", ha="center", va="center", color=_MUTED)
    for row, operand in enumerate(layer.operands, start=1):
        draw.text(
            0.75, row + 0.1, operand.name, ha="right", va="center", fontweight="bold", fontsize=11
        )
        for column, loop in enumerate(loops):
            colour, ink, short = _COLOURS[layer.relevance(operand.name, loop.dimension)]
            draw.add_patch(Rectangle((column + 1.06, row - 0.32), 0.88, 0.84, facecolor=colour))
            draw.text(column + 1.5, row + 0.1, short, ha="center", va="center", color=ink)
        words = layer.elements(operand.name)
        draw.text(len(loops) + 2.3, row + 0.1, f"{words:,}", ha="right", va="center")
        draw.text(
            len(loops) + 3.8, row + 0.1, f"{layer.macs / words:,.0f} times", ha="right", va="center"
        )
    legend = "     ".join(_MEANINGS)
    draw.text(1.06, 4.25, legend, va="center", fontsize=7.5, color=_MUTED)
    return figure


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


@styled()
def stall_figure(cme: CostModelEvaluation) -> Figure:
    """Three machines that fill a register: in time, too slowly, slowly but ahead of time."""
    machine = read_accelerator(MACHINE)
    cases = (
        ("8 bit a cycle, room for 1 weight", refill(with_registers(machine, 8, 1), cme)),
        ("2 bit a cycle, room for 1 weight", refill(with_registers(machine, 2, 1), cme)),
        ("2 bit a cycle, room for 2 weights", refill(with_registers(machine, 2, 2), cme)),
    )
    end = max(3 * (case.period + case.late) for _, case in cases)
    figure, draw = _canvas(7.2, 4.1, (end + 1, 10.2))
    for i, (title, case) in enumerate(cases):
        _draw_case(draw, 3.2 * i, title, case)
    for i, (colour, text) in enumerate(
        ((_ARRAY, "array computes"), (_WAIT, "array waits"), (_PORT, "port writes the next weight"))
    ):
        draw.add_patch(Rectangle((13 * i, 9.65), 0.8, 0.4, facecolor=colour))
        draw.text(13 * i + 1.2, 9.85, text, va="center", fontsize=8)
    return figure


def _draw_case(draw: Plot, top: float, title: str, case: Refill) -> None:
    """Three periods of one machine: the array above, the port below."""
    draw.text(0, top + 0.35, title, va="center", fontweight="bold")
    figures = f"stall {case.stall:,.0f} of {case.latency:,.0f} cycles"
    draw.text(
        3 * (case.period + case.late), top + 0.35, figures, va="center", ha="right", color=_MUTED
    )
    ahead = case.allowed >= case.period
    at = 0.0
    for _ in range(3):
        draw.add_patch(Rectangle((at, top + 0.8), case.period - 0.12, 0.9, facecolor=_ARRAY))
        label = f"{case.period:g} cycles, one weight"
        draw.text(
            at + case.period / 2,
            top + 1.25,
            label,
            ha="center",
            va="center",
            color="#ffffff",
            fontsize=8,
        )
        start = at if ahead else at + case.period - case.allowed
        draw.add_patch(Rectangle((start, top + 1.8), case.needed - 0.12, 0.7, facecolor=_PORT))
        if case.late:
            wait = Rectangle((at + case.period, top + 0.8), case.late - 0.12, 0.9, facecolor=_WAIT)
            draw.add_patch(wait)
            draw.text(
                at + case.period + case.late / 2,
                top + 1.25,
                f"{case.late:g}",
                ha="center",
                va="center",
                color="#ffffff",
                fontsize=8,
            )
        at += case.period + case.late


def _canvas(width: float, height: float, size: tuple[float, float]) -> tuple[Figure, Plot]:
    """A figure without axes, columns and rows from the top left."""
    figure = new_figure(width, height)
    draw = page_of(figure).add_subplot()
    draw.set_axis_off()
    draw.set_xlim(0, size[0])
    draw.set_ylim(size[1], 0)
    return figure, draw


def figures_of_a_run() -> dict[str, Figure]:
    """What ``nestmap plot`` draws of the run that the pages show."""
    machine = read_accelerator("tpu_like")
    total = explore("light:squeezenet", machine, "tpu_like").total
    return {
        "see-layers.svg": layers_figure(total),
        "see-memories.svg": memories_figure(total),
        "see-accelerator.svg": accelerator_figure(machine),
        "see-roofline.svg": roofline_figure(total, machine),
    }


def figure_of_schedules() -> Figure:
    """SqueezeNet on four cores, layer by layer and with every layer in four parts."""
    plan = stream_plan(individuals=16, generations=8, rule="critical")
    whole = stream("light:squeezenet", "quad_tpu", plan=plan)
    rows = stream("light:squeezenet", "quad_tpu", hint_loops=[("OY", 4)], plan=plan)
    return schedules_figure(
        [
            NamedSchedule("layer by layer", whole.schedule),
            NamedSchedule("each layer in four parts along its rows", rows.schedule),
        ]
    )


def drawn() -> dict[str, Figure]:
    """All pictures by the names of their files."""
    uneven, even = best(MappingType.UNEVEN), best(MappingType.EVEN)
    return {
        "concept-loop-nest.svg": loops_figure(uneven),
        "concept-relevance.svg": relevance_figure(the_layer()),
        "concept-even.svg": loops_figure(even),
        "concept-stalls.svg": stall_figure(uneven),
        **figures_of_a_run(),
        "see-schedules.svg": figure_of_schedules(),
    }


def write(folder: Path) -> None:
    """Draws them into a folder."""
    for name, figure in drawn().items():
        save(figure, folder / name)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
