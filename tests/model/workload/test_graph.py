"""Networks as graphs: what they give out, in which order nodes stand."""

import pytest
from pydantic import ValidationError

from nestmap.model import Workload, layer_from_equation
from nestmap.model.base import copy_with
from nestmap.model.workload.layer import Layer


def layer(name: str, source: str | None = None) -> Layer:
    sources = {"I": source} if source else {}
    return layer_from_equation("O[k]+=I[k]*W[k]", {"K": 4}, name=name, sources=sources)


NET = copy_with(
    Workload.of(layer("a"), layer("b", "a"), layer("c", "b"), name="net"), {"outputs": ("a", "b")}
)


def test_some_layers_keep_the_outputs_that_are_among_them() -> None:
    assert NET.only("b", "c").outputs == ("b",)
    assert NET.only("c").outputs == ()


def test_an_output_is_a_node_of_the_network() -> None:
    with pytest.raises(ValidationError, match="output 'x' is not in the workload; expected"):
        Workload(name="net", nodes=NET.nodes, outputs=("x",))


def test_nodes_stand_after_their_sources_else_as_given() -> None:
    given = Workload(name="net", nodes=NET.nodes[::-1])
    assert [node.name for node in given.in_order] == ["a", "b", "c"]
    assert NET.in_order == NET.nodes


def test_outputs_are_part_of_the_content_only_where_there_are_some() -> None:
    plain = Workload(name="net", nodes=NET.nodes)
    assert plain.content_hash != NET.content_hash
    assert "outputs" not in plain.model_dump(exclude_defaults=True)
