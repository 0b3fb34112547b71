"""Multiply-accumulates and parameters of networks against closed forms and published figures.

Published are, unless the table says otherwise, 10^9 multiply-accumulates (many sources call these
FLOPs), 10^9 parameters. Sources:

* He: He et al., Deep Residual Learning for Image Recognition, CVPR 2016, section 4.1.
* Szegedy: Szegedy et al., Going Deeper with Convolutions, CVPR 2015, section 1.
* torchvision: the GFLOPS in the documentation of torchvision's pretrained networks.
* OMZ: half of the GFLOPs in OpenVINO's Open Model Zoo, models/public and models/intel.
* Gholami: Gholami et al., SqueezeNext, CVPR workshops 2018: AlexNet's MACs.
* Zhang: Zhang et al., ShuffleNet, CVPR 2018, table 5.
* Kaplan: Kaplan et al., Scaling Laws for Neural Language Models, 2020 (arXiv:2001.08361), table 1:
  a token takes N multiply-accumulates for N parameters that are no embedding, and
  ``layers * context * width`` for each of scores and values.
* BERT, GPT-2, GPT-3, LLaMA, Llama 2: the papers named in ``pipeline/frontend/networks``.
* U-Net: the weights and biases of Ronneberger et al., MICCAI 2015, figure 1.
* Ultralytics: the documentation of YOLOv8, ``yolov8n``: FLOPs are two a MAC.
* Mistral: Mixtral of Experts, announcement of December 2023: 46.7 B parameters, 12.9 B of them used
  for a token.
"""

from functools import cache

import pytest

from nestmap.model import Workload
from nestmap.pipeline.frontend.networks import generate_workload
from nestmap.pipeline.frontend.read.workload import read_workload

BILLION = 1e9


@cache
def network(name: str) -> Workload:
    """A network with all dimensions at their defaults."""
    return read_workload(name)


def parameters(workload: Workload) -> int:
    """Elements of all different constant tensors but tables of angles; biases are left out."""
    found = {x.name: x for node in workload.nodes for x in node.inputs if x.constant}
    return sum(x.elements for x in found.values() if not x.name.startswith("positions."))


@pytest.mark.parametrize(
    ("name", "published", "tolerance"),
    [
        ("light:resnet50", 4.09, 0.005),  # torchvision, resnet50
        ("light:vgg19", 19.6, 0.005),  # He
        # Gholami, for 227 x 227 pixels and 55 x 55 positions; this file has 224 and 54
        ("light:bvlc_alexnet", 0.725, 0.10),
        ("light:inception_v1", 1.5, 0.05),  # Szegedy
        ("light:inception_v2", 2.029, 0.01),  # OMZ, googlenet-v2
        ("light:densenet121", 2.83, 0.005),  # torchvision
        ("light:squeezenet", 0.35, 0.015),  # torchvision, squeezenet1_1
        ("light:shufflenet", 0.14, 0.12),  # Zhang, to two digits; with three groups
        ("vit-b16", 17.56, 0.0005),  # torchvision, vit_b_16
        ("vgg-16", 15.47, 0.0005),  # torchvision, as the next ones
        ("resnet-18", 1.81, 0.005),
        ("resnet-34", 3.66, 0.005),
        ("resnet-50", 4.09, 0.0005),
        ("mobilenet-v2", 0.300, 0.005),
        ("mobilenet-v3-small", 0.0565, 0.01),
        ("mobilenet-v3-large", 0.217, 0.005),
        ("efficientnet-b0", 0.386, 0.001),
        ("convnext-tiny", 4.456, 0.0005),
        ("swin-tiny", 4.491, 0.0005),
        ("yolo-v8n", 8.7 / 2, 0.01),  # Ultralytics
        ("bert-large", 246.93 / 2, 0.005),  # OMZ, bert-large-...-squad-0001, 384 tokens
    ],
)
def test_published_macs(name: str, published: float, tolerance: float) -> None:
    assert network(name).macs / BILLION == pytest.approx(published, rel=tolerance)


@pytest.mark.parametrize(
    ("name", "published", "tolerance"),
    [
        ("bert-base", 0.110, 0.01),  # BERT
        ("bert-large", 0.340, 0.02),  # BERT: rounded; the released one has 0.335
        ("gpt2", 0.124, 0.01),  # as released
        ("gpt2-medium", 0.355, 0.01),
        ("gpt2-large", 0.774, 0.01),
        ("gpt2-xl", 1.558, 0.01),
        ("gpt3-2.7b", 2.7, 0.03),  # GPT-3
        ("gpt3-6.7b", 6.7, 0.03),
        ("gpt3-13b", 13.0, 0.03),
        ("gpt3-175b", 175.0, 0.03),
        ("llama-7b-prefill", 6.7, 0.01),  # LLaMA
        ("llama-70b-decode", 69.0, 0.01),  # Llama 2's released weights: 68.98
        ("mixtral-8x7b", 46.7, 0.002),  # Mistral
        ("mixtral-8x7b-decode", 12.9, 0.003),  # Mistral: those used for a token
        ("vit-b16", 0.0866, 0.005),  # torchvision: 86,567,656
    ],
)
def test_published_parameters(name: str, published: float, tolerance: float) -> None:
    count = parameters(network(name))
    if name.startswith("gpt"):
        # The table of embeddings gives the scores of words as well.
        (logits,) = (x for x in network(name).layers if x.name == "logits")
        count -= logits.elements("W")
    assert count / BILLION == pytest.approx(published, rel=tolerance)


@pytest.mark.parametrize(
    ("name", "published", "normalized", "left_out"),
    [
        # torchvision; batch normalizations scale so many channels
        ("vgg-16", 138_357_544, 0, 0),
        ("resnet-18", 11_689_512, 4_800, 0),
        ("resnet-34", 21_797_672, 8_512, 0),
        ("resnet-50", 25_557_032, 26_560, 0),
        ("mobilenet-v2", 3_504_872, 17_056, 0),
        ("mobilenet-v3-small", 2_542_856, 6_056, 0),
        ("mobilenet-v3-large", 5_483_032, 12_200, 0),
        ("efficientnet-b0", 5_288_548, 21_008, 0),
        # the biases of linear layers: 5 times the width of each block
        ("convnext-tiny", 28_589_128, 0, 5 * (3 * 96 + 3 * 192 + 9 * 384 + 3 * 768)),
        # 9 times; and tables of 13 x 13 places, which are here 49 x 49
        (
            "swin-tiny",
            28_288_354,
            0,
            9 * (2 * 96 + 2 * 192 + 6 * 384 + 2 * 768)
            + (13**2 - 49**2) * (2 * 3 + 2 * 6 + 6 * 12 + 2 * 24),
        ),
        ("yolo-v8n", 3_151_904, 0, 0),  # Ultralytics, normalizations within convolutions
        ("unet", 31_030_658, 0, 0),  # U-Net
    ],
)
def test_published_parameters_of_networks_for_images(
    name: str, published: int, normalized: int, left_out: int
) -> None:
    """To the last one: scales of normalizations are part of the weights."""
    constants = {x.name: x for node in network(name).nodes for x in node.inputs if x.constant}
    stored = (".weight", ".bias", ".scale")
    count = sum(x.elements for x in constants.values() if x.name.endswith(stored))
    assert count == published - normalized - left_out


@pytest.mark.parametrize("tokens", [128, 384])
@pytest.mark.parametrize(("name", "n", "h"), [("bert-base", 12, 768), ("bert-large", 24, 1024)])
def test_bert(name: str, n: int, h: int, tokens: int) -> None:
    """Four products of width by width and two with the inner size; scores and values; pooler."""
    macs = n * (tokens * 12 * h * h + 2 * tokens * tokens * h) + h * h
    assert generate_workload(name, {"seq": tokens}).macs == macs
    assert generate_workload(name, {"seq": tokens, "batch": 8}).macs == 8 * macs


def test_bert_base_takes_35_billion_for_384_tokens() -> None:
    assert network("bert-base").macs / BILLION == pytest.approx(35, rel=0.01)


@pytest.mark.parametrize(
    ("name", "n", "h", "heads"),
    [
        ("gpt2", 12, 768, 768),
        ("gpt2-xl", 48, 1600, 1600),
        ("gpt3-13b", 40, 5140, 5120),
        ("gpt3-175b", 96, 12288, 12288),
    ],
)
def test_gpt_takes_as_many_macs_as_parameters_and_tokens(
    name: str, n: int, h: int, heads: int
) -> None:
    tokens, words = 512, 50_257
    weights = n * (4 * h * heads + 8 * h * h)
    attention = n * 2 * tokens * tokens * heads
    macs = generate_workload(name, {"seq": tokens}).macs
    assert macs == tokens * weights + attention + tokens * h * words
    # Kaplan's rule, for contexts that are short against the width
    assert (macs - tokens * h * words) / (weights * tokens) == pytest.approx(
        1 + tokens / (6 * h), rel=0.01
    )


def block(width: int, inner: int, kv_width: int) -> int:
    """The parameters of a block of Llama."""
    return 2 * width * width + 2 * width * kv_width + 3 * width * inner


@pytest.mark.parametrize(
    ("name", "n", "sizes"),
    [("llama-7b", 32, (4096, 11008, 4096)), ("llama-70b", 80, (8192, 28672, 1024))],
)
def test_llama(name: str, n: int, sizes: tuple[int, int, int]) -> None:
    width, words = sizes[0], 32_000
    weights, seq, batch = n * block(*sizes), 100, 3
    prefill = generate_workload(f"{name}-prefill", {"seq": seq, "batch": batch})
    attention = n * 2 * seq * seq * width
    assert prefill.macs == batch * (seq * weights + attention + width * words)
    decode = generate_workload(f"{name}-decode", {"context": seq, "batch": batch})
    assert decode.macs == batch * (weights + n * 2 * seq * width + width * words)
    assert generate_workload(f"{name}-prefill-block", {"seq": seq}).macs * n == (
        seq * weights + attention
    )


@pytest.mark.parametrize("tokens", [1, 3, 64])
def test_mixtral(tokens: int) -> None:
    """Two experts for each token, whatever their shares."""
    width, inner, n = 4096, 14336, 32
    for_token = 2 * width * width + 2 * width * 1024 + 2 * 3 * width * inner + 8 * width
    macs = n * (tokens * for_token + 2 * tokens * tokens * width) + width * 32_000
    assert generate_workload("mixtral-8x7b", {"seq": tokens}).macs == macs


def test_vit() -> None:
    tokens, h = 197, 768
    blocks = 12 * (12 * tokens * h * h + 2 * tokens * tokens * h)
    assert network("vit-b16").macs == blocks + 196 * (3 * 16 * 16) * h + 1000 * h
