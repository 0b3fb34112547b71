"""Generated networks: connected, with tensors of the right sizes, open where they say so."""

from functools import cache

import pytest

import nestmap
from nestmap.model import InputError, LayerNode, NoCostNode, VectorNode, Workload
from nestmap.pipeline.frontend.networks import generate_workload, network_dims, network_names
from nestmap.pipeline.frontend.networks.dims import LARGEST

SMALL = {"batch": 2, "seq": 6, "context": 6}
WHOLE = ("bert-base", "gpt2", "llama-7b-prefill", "llama-7b-decode", "vit-b16")
NAMES = (*WHOLE, *(name for name in network_names() if name.endswith("-block")))


@cache
def small(name: str) -> Workload:
    """The network with few tokens."""
    return generate_workload(name, {k: v for k, v in SMALL.items() if k in network_dims(name)})


def test_the_names_that_users_compare_with_are_there() -> None:
    asked = (
        *("bert-base", "bert-large", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt3-175b"),
        *("llama-7b-prefill", "llama-7b-decode", "llama-70b-prefill", "llama-70b-decode"),
        *("vit-b16", "mixtral-8x7b"),
    )
    assert {*asked, *(f"{name}-block" for name in asked)} <= set(network_names())


@pytest.mark.parametrize("name", NAMES)
def test_tensors_are_made_once_and_read_as_they_were_made(name: str) -> None:
    workload = small(name)
    assert workload.name == name
    assert not workload.unknown_operators
    made = {tensor.name: (tensor, node.name) for node in workload.nodes for tensor in node.outputs}
    assert len(made) == sum(len(node.outputs) for node in workload.nodes)
    before: set[str] = set()
    for node in workload.nodes:
        makers = dict.fromkeys(made[x.name][1] for x in node.inputs if x.name in made)
        assert tuple(makers) == tuple(dict.fromkeys(node.sources))
        assert before.issuperset(node.sources)
        assert all(made[x.name][0] == x for x in node.inputs if x.name in made)
        assert all(not x.constant for x in node.outputs)
        before.add(node.name)


@pytest.mark.parametrize("name", NAMES)
def test_all_is_read_but_the_result(name: str) -> None:
    workload = small(name)
    read = {source for node in workload.nodes for source in node.sources}
    assert [node.name for node in workload.nodes if node.name not in read] == [
        workload.nodes[-1].name
    ]


@pytest.mark.parametrize("name", NAMES)
def test_layers_touch_their_tensors_and_vectors_run_through_theirs(name: str) -> None:
    for node in small(name).nodes:
        if isinstance(node, LayerNode):
            image, other = node.inputs
            assert node.layer.elements("W") == other.elements
            assert node.layer.elements("I") == image.elements
            assert node.layer.elements("O") == node.outputs[0].elements
            assert [x.constant for x in node.layer.inputs if x.name == "W"] == [other.constant]
        elif isinstance(node, VectorNode):
            assert node.iterations == node.inputs[0].sizes


@pytest.mark.parametrize("name", NAMES)
def test_what_only_moves_keeps_its_bits(name: str) -> None:
    for node in small(name).nodes:
        if isinstance(node, NoCostNode) and node.operator in ("Transpose", "Concat", "Split"):
            assert sum(x.bits for x in node.inputs) == sum(x.bits for x in node.outputs)


@pytest.mark.parametrize(
    ("name", "blocks", "different"),
    [
        # queries, keys, values and output are alike; scores, values, up, down; pooler
        ("bert-base", 12, 6),
        # queries and output; keys and values; scores, values, gate and up, down; logits
        ("llama-70b-decode", 80, 7),
        # keys and values of all heads are as large as the queries
        ("llama-7b-prefill", 32, 6),
        # queries and output; keys and values; scores, values, router, gate and up, down; logits
        ("mixtral-8x7b", 32, 8),
    ],
)
def test_blocks_are_the_same_but_for_their_names(name: str, blocks: int, different: int) -> None:
    workload = small(name)
    assert len({layer.anonymous for layer in workload.layers}) == different
    block = small(f"{name}-block").layers
    inside = [layer.anonymous for layer in workload.layers if layer.name.startswith("block")]
    assert inside == [layer.anonymous for layer in block] * blocks


def test_decoding_reads_the_cache() -> None:
    workload = generate_workload("llama-70b-decode-block", {"batch": 3, "context": 1000})
    given = {x.name: x for node in workload.nodes for x in node.inputs if not x.constant}
    caches = {name: x.sizes for name, x in given.items() if name.endswith("cache")}
    assert set(caches.values()) == {(3, 8, 999, 128)}
    assert len(caches) == 2
    (scores,) = (x for x in workload.layers if x.name.endswith("scores"))
    assert scores.sizes == {"C": 128, "D": 1, "K": 1000, "B": 3, "H": 8, "B3": 8}
    assert scores.elements("W") == 3 * 8 * 1000 * 128
    first = generate_workload("llama-70b-decode-block", {"context": 1})
    assert "Concat" not in first.no_cost_operators


@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 8, 100])
def test_experts_get_equal_shares(tokens: int) -> None:
    workload = generate_workload("mixtral-8x7b-block", {"seq": tokens})
    shares = [x.sizes["D"] for x in workload.layers if x.name.endswith("/gate")]
    assert sum(shares) == 2 * tokens
    assert max(shares) - min(shares) <= 1
    assert len(shares) == min(8, 2 * tokens)


def test_bits_of_weights_and_activations() -> None:
    workload = generate_workload("llama-7b-decode-block", {"weight_bits": 4, "activation_bits": 16})
    for layer in workload.layers:
        weights = [4 if x.constant else 16 for x in layer.inputs]
        assert [x.precision for x in layer.inputs] == weights
        assert (layer.output.precision, layer.output.partial_precision) == (16, 32)
    (norm, *_) = (x for x in workload.vector_nodes if x.operator == "RMSNormalization")
    assert norm.bits_read == 16 * 2 * 4096


@pytest.mark.parametrize(
    ("name", "dims", "message"),
    [
        ("bert-bas", {}, r"network: found 'bert-bas'; expected bert-base \(one of vgg-16, "),
        ("bert-base", {"sec": 3}, r"'bert-base': found the unknown dimension 'sec'; expected seq"),
        ("vit-b16", {"seq": 3}, "unknown dimension 'seq'; expected one of batch, size"),
        ("bert-base", {"seq": 513}, "dimension seq: found 513; expected a whole .* 1 to 512"),
        ("gpt2", {"batch": 0}, "batch: found 0; expected a whole .* 1 to 2147483647"),
        ("gpt2", {"batch": -2}, "found -2"),
        ("gpt2", {"weight_bits": 65}, "from 1 to 64"),
        ("gpt3-175b", {"batch": LARGEST}, "multiply-accumulates; expected at most 2"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(name: str, dims: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        generate_workload(name, dims)


@pytest.mark.parametrize("name", ["vit-b16-block", "llama-7b-decode", "mixtral-8x7b-decode-block"])
def test_networks_are_explored(name: str) -> None:
    found = nestmap.explore(
        name,
        "tpu_like",
        "free" if name == "vit-b16-block" else None,
        search="loma",
        spatial_mappings=3,
        lpf_limit=3,
    )
    assert sum(1 for x in found.layers if x.repeats is None) <= 10
    assert found.latency > 0
