"""All figures of a network evaluation, with file names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from matplotlib.figure import Figure

from nestmap.model import Accelerator, NetworkEvaluation
from nestmap.pipeline.render.figures.accelerator import accelerator_figure
from nestmap.pipeline.render.figures.layers import layers_figure, utilization_figure
from nestmap.pipeline.render.figures.loops import loops_figure
from nestmap.pipeline.render.figures.memory_energy import memories_figure
from nestmap.pipeline.render.figures.preconditions import file_name
from nestmap.pipeline.render.figures.roofline import roofline_figure


def network_figures(
    evaluation: NetworkEvaluation, accelerator: Accelerator | None, network: str | None = None
) -> Iterator[tuple[str, Figure]]:
    """The figures and their names, one after the other, with the loops of each distinct layer.

    ``accelerator`` is the one of the evaluation; some figures cannot be drawn without it.
    """
    yield "layers", layers_figure(evaluation, network)
    yield "memories", memories_figure(evaluation, network)
    yield "utilization", utilization_figure(evaluation, network)
    if accelerator is not None:
        yield "accelerator", accelerator_figure(accelerator, evaluation)
        yield "roofline", roofline_figure(evaluation, accelerator, network)
    seen: Counter[str] = Counter()
    for result in evaluation.layers:
        if result.repeats is None:
            name = f"loops-{file_name(result.cme.layer)}"
            seen[name] += 1
            number = "" if seen[name] == 1 else f"-{seen[name]}"
            yield f"{name}{number}", loops_figure(result.cme, network)
