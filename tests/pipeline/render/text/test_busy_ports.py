"""Ports that are busy for longer than layers take, in words and in tables."""

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import CostModelEvaluation, LayerResult, NetworkEvaluation
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.explanation import explain
from nestmap.pipeline.render.tables.mapping import cost_table
from nestmap.pipeline.render.text.results import overload_note
from tests.costmodel.test_busy_ports import KEPT, strict

LOOSE = evaluate(KEPT.spatial, KEPT.temporal)
STRICT = strict(KEPT)
TIGHT = evaluate(STRICT.spatial, STRICT.temporal)
OLD = copy_with(
    LOOSE, {"port_stalls": tuple(copy_with(x, {"busy": None}) for x in LOOSE.port_stalls)}
)


def network(*cmes: CostModelEvaluation) -> NetworkEvaluation:
    """A network with these layers."""
    layers = (copy_with(x, {"layer": f"fc{i}"}) for i, x in enumerate(cmes))
    return NetworkEvaluation(layers=tuple(LayerResult(cme=x) for x in layers))


def test_a_network_names_its_worst_layer() -> None:
    assert overload_note(network(TIGHT, LOOSE)) == (
        "1 of 2 layers take fewer cycles than a port of theirs is busy: fc1, where the rw_port_1 "
        "of top is busy for 3.5% more, above all. Loads overlap there, as the reference counts; "
        "without --reference they wait."
    )
    assert overload_note(network(TIGHT)) == ""
    assert overload_note(network(OLD)) == ""  # nothing is known of it


def test_a_mapping_shows_its_overloaded_port() -> None:
    busy = ("Busiest port", "592", "top, port rw_port_1: more than the latency")
    assert busy in [row.texts for row in cost_table(LOOSE).rows]
    assert "Busiest port" not in [row.texts[0] for row in cost_table(TIGHT).rows]


def test_an_explanation_says_by_how_much() -> None:
    sentence = (
        "The port rw_port_1 of top is busy for 592 cycles, 3.5% more than the latency: its loads "
        "overlap, as the reference counts; without --reference they wait."
    )
    loose, tight = explain(KEPT.spatial, LOOSE).text(), explain(STRICT.spatial, TIGHT).text()
    assert sentence in " ".join(loose.split())
    assert "is busy for" not in " ".join(tight.split())
    assert "The array waits 400 cycles" in " ".join(tight.split())
