"""Generated networks for images: sizes follow, graphs are connected, precisions are as asked."""

from functools import cache

import pytest

import nestmap
from nestmap.model import InputError, LayerNode, Workload
from nestmap.pipeline.frontend.networks import generate_workload, network_dims

NAMES = (
    *("resnet-18", "resnet-34", "resnet-50", "mobilenet-v2", "mobilenet-v3-small"),
    *("mobilenet-v3-large", "efficientnet-b0", "vgg-16", "unet", "yolo-v8n", "convnext-tiny"),
    *("vit-b16", "swin-tiny"),
)
SMALLEST = {"unet": 188, "yolo-v8n": 32, "vgg-16": 32, "convnext-tiny": 32, "vit-b16": 16}


@cache
def made(name: str, size: int) -> Workload:
    return generate_workload(name, {"size": size})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_any_size_is_possible(name: str, steps: int) -> None:
    """Padding, windows that are not full and pools of other sizes included."""
    step = {"unet": 16, "yolo-v8n": 32}.get(name, 29)
    workload = made(name, SMALLEST.get(name, 4) + steps * step)
    assert not workload.unknown_operators
    produced = {tensor.name for node in workload.nodes for tensor in node.outputs}
    for node in workload.nodes:
        before = {x.name for x in node.inputs if not x.constant}
        assert before <= produced | {"image"}
    read = {x.name for node in workload.nodes for x in node.inputs}
    assert [x for node in workload.nodes for x in node.outputs if x.name not in read] == [
        workload.nodes[-1].outputs[0]
    ]


@pytest.mark.parametrize("name", NAMES)
def test_work_grows_with_batch_and_image(name: str) -> None:
    size = network_dims(name)["size"]
    whole = generate_workload(name, {}).macs
    assert generate_workload(name, {"batch": 3}).macs == 3 * whole
    assert made(name, 2 * size - size % 16).macs > 3 * whole


@pytest.mark.parametrize("name", NAMES)
def test_bits_of_weights_and_activations(name: str) -> None:
    workload = generate_workload(name, {"weight_bits": 4, "activation_bits": 16})
    for layer in workload.layers:
        expected = [4 if x.constant else 16 for x in layer.inputs]
        assert [x.precision for x in layer.inputs] == expected
        assert (layer.output.precision, layer.output.partial_precision) == (16, 32)


def test_unet_has_the_figures_of_the_paper() -> None:
    workload = made("unet", 572)
    layers = [node for node in workload.nodes if isinstance(node, LayerNode)]
    assert len(layers) == 23
    assert layers[-1].outputs[0].sizes == (1, 2, 388, 388)
    assert min(node.outputs[0].sizes[2] for node in layers if node.outputs[0].sizes) == 28


def test_yolo_finds_8400_boxes() -> None:
    assert made("yolo-v8n", 640).nodes[-1].outputs[0].sizes == (1, 84, 8400)


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("unet", 570, "dimension size: found 570; .* from 188 to 16384 in steps of 16"),
        ("yolo-v8n", 600, "dimension size: found 600; .* from 32 to 16384 in steps of 32"),
        ("vgg-16", 31, "found 31; expected a whole number from 32 to 16384"),
        ("resnet-18", 0, "found 0; expected a whole number from 1 to 16384"),
    ],
)
def test_a_size_that_a_network_cannot_take_is_refused(name: str, size: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        generate_workload(name, {"size": size})


def test_a_network_that_is_too_large_is_refused_by_its_name() -> None:
    found = "network 'yolo-v8n': node 'backbone/conv0' .*: found .* multiply-accumulates"
    with pytest.raises(InputError, match=found):
        generate_workload("yolo-v8n", {"batch": 2**31 - 1})


def test_a_network_by_name_is_explored() -> None:
    found = nestmap.explore("mobilenet-v3-small", "tpu_like", dims={"size": 32}, search="loma")
    assert found.energy > 0
    assert {x.name for x in made("mobilenet-v3-small", 32).layers} == {
        x.cme.layer for x in found.layers
    }
