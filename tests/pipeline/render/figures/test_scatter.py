"""All mappings of a layer: every row is drawn, few bytes for many, the front is the front."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import EvaluationBatch, MappingType
from nestmap.pipeline.analysis.network.scatter import Cloud, clouds
from nestmap.pipeline.render.figures import save, scatter_figure
from nestmap.pipeline.render.figures.scatter import MOST_POINTS, draw_scatter
from nestmap.search import loma, pareto_front
from tests.costmodel.machines import machine, mapped, matmul, memory
from tests.pipeline.render.figures import baselines


def batches() -> list[EvaluationBatch]:
    """All mappings of a small layer."""
    top = memory("top", served="D1")
    spatial = mapped(matmul(k=8, c=12, b=4), machine(memory("reg", size=64, operands="I2"), top))
    return [evaluate_batch(batch) for batch in loma(spatial, 4, MappingType.UNEVEN)]


def test_every_mapping_is_a_point() -> None:
    found = batches()
    figure = scatter_figure(found, "layer")
    (axes,) = figure.axes
    points, *legend = (x for x in axes.collections if isinstance(x, PathCollection))
    costs = Counter(
        (float(np.float32(latency)), float(np.float32(energy)))
        for batch in found
        for latency, energy in zip(batch.latency2, batch.energy, strict=True)
    )
    assert 1 < len(costs) < costs.total()
    offsets = np.asarray(points.get_offsets(), np.float32).tolist()
    drawn = [(float(x), float(y)) for x, y in offsets]
    assert len(drawn) == len(costs)
    assert set(drawn) == set(costs)
    areas = dict(zip(drawn, points.get_sizes(), strict=True))
    order = sorted(costs, key=costs.__getitem__)
    assert all(
        (costs[one] < costs[other]) == bool(areas[one] < areas[other])
        for one, other in pairwise(order)
    )
    labels = [str(x.get_label()) for x in legend]
    assert labels == ["a point of 1 mapping", f"a point of {max(costs.values())} mappings"]
    (line,) = axes.lines
    energies = np.asarray(line.get_ydata(), np.float64)
    front = pareto_front(found)
    assert energies.tolist() == list(front.energies)
    assert np.asarray(line.get_xdata(), np.float64).tolist() == list(front.latencies)


def test_spatial_mappings_have_colours_of_their_own() -> None:
    (axes,) = draw_scatter(baselines.clouds(50), "layer").axes
    assert len([x for x in axes.collections if isinstance(x, PathCollection)]) == 2


def test_many_spatial_mappings_share_the_last_colour() -> None:
    some = np.array([1.0, 2.0])
    found = tuple(Cloud(f"D1: K {i}", some * i, some) for i in range(1, 10))
    legend = draw_scatter(found, "layer").axes[0].get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[5:] == ["4 more spatial mappings", "Pareto front (1 mapping)"]


@pytest.mark.parametrize("rows", [MOST_POINTS // 2, 500_000])
def test_a_figure_of_many_mappings_is_a_small_file(rows: int, tmp_path: Path) -> None:
    figure = draw_scatter(baselines.clouds(rows), "layer")
    for ending, most in ((".svg", 1_500_000), (".pdf", 1_500_000), (".png", 500_000)):
        save(figure, tmp_path / f"many{ending}")
        assert (tmp_path / f"many{ending}").stat().st_size < most


def test_every_mapping_is_counted_in_a_cell() -> None:
    found = baselines.clouds(MOST_POINTS)
    axes, _ = draw_scatter(found, "layer").axes
    (mesh,) = (x for x in axes.collections if isinstance(x, QuadMesh))
    counts: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = mesh.get_array()
    assert counts is not None
    assert int(counts.sum()) == 2 * MOST_POINTS


@pytest.mark.parametrize("rows", [1, MOST_POINTS + 1])
@pytest.mark.parametrize("value", [0.0, 5.0])
def test_mappings_that_cost_the_same_can_be_drawn(rows: int, value: float, tmp_path: Path) -> None:
    same = np.full(rows, value)
    save(draw_scatter((Cloud("-", same, same),), "layer"), tmp_path / "same.png")


def test_nothing_to_draw_is_an_error() -> None:
    assert clouds([]) == ()
    with pytest.raises(ValueError, match="no mapping was evaluated"):
        scatter_figure([], "layer")
