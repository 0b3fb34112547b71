"""Small networks of convolutions, branches and vector operators, and the segments in them."""

import random

from nestmap.model import Workload
from nestmap.model.workload.builders import Precision, attention
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph, Map, Window
from nestmap.search.fusion.segment import Segment, segment_of
from nestmap.search.tensor_homes import TensorGraph


def random_network(seed: int) -> Workload:
    """Three to six nodes on an image: convolutions, poolings, activations, additions."""
    draw = random.Random(seed)
    graph = ImageGraph(Precision())
    size = draw.randint(5, 12)
    maps = [graph.given("image", (1, 2, size, draw.randint(5, 12)))]
    for n in range(draw.randint(2, 6)):
        maps.append(_node(draw, graph, f"n{n}", maps))
    return Workload(name="random", nodes=graph.nodes("random"))


def random_attention(seed: int) -> Workload:
    """An attention of a few heads; heads may share keys and values."""
    draw = random.Random(seed)
    heads, size = draw.randint(1, 3), draw.choice((2, 3, 4, 8))
    shared = draw.choice((heads, heads, 1))
    queries, keys = (1, heads, draw.randint(2, 12), size), (1, shared, draw.randint(2, 12), size)
    return Workload(name="attention", nodes=attention("attention", queries, keys))


def _node(draw: random.Random, graph: ImageGraph, name: str, maps: list[Map]) -> Map:
    x = maps[-1]
    window = Window(draw.choice((1, 2, 3, 5)), draw.choice((1, 1, 1, 2, 3)), draw.choice((0, 1)))
    if min(window.moved_over(x.sizes)) < 2:
        window = Window(draw.choice((1, 3)))
    same = [y for y in maps[1:-1] if y.sizes == x.sizes]
    match draw.randrange(5):
        case 0 if same:
            return graph.vector("Add", name, x, draw.choice(same))
        case 1 if len(maps) > 1:
            return graph.activation("Relu", x)
        case 2 if len(maps) > 1 and window.size > window.margin:
            return graph.pool("MaxPool", name, x, window)
        case _:
            return graph.conv(name, x, draw.choice((1, 2, 3)), window)


def whole_segment(workload: Workload) -> tuple[TensorGraph, Segment | str]:
    """All steps of a network as one segment."""
    graph = TensorGraph.of(workload, workload.layers)
    return graph, segment_of(graph, 0, len(graph.steps) - 1)
