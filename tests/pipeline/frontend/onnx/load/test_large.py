"""Networks as large as they come: only the graph counts, not the weights."""

from pathlib import Path

import onnx
from onnx import TensorProto, external_data_helper, helper

from nestmap.model import NoCostNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import model, node
from tests.sweeps import STRESS

BLOCKS, HIDDEN, HEADS, GROUPS, HEAD, WIDE = 80, 8192, 64, 8, 128, 28672


def _outside(name: str, *dims: int) -> onnx.TensorProto:
    """Weights in another file, which is nowhere."""
    tensor = onnx.TensorProto(name=name, data_type=TensorProto.FLOAT16, dims=dims)
    tensor.raw_data = b""  # the library sets the place of raw data only
    external_data_helper.set_external_data(tensor, "weights.bin")
    return tensor


def _block(i: int) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """One block of a network of 70 thousand million parameters: attention and gated products."""
    sizes = {
        "q": (HIDDEN, HEADS * HEAD),
        "k": (HIDDEN, GROUPS * HEAD),
        "v": (HIDDEN, GROUPS * HEAD),
        "o": (HEADS * HEAD, HIDDEN),
        "gate": (HIDDEN, WIDE),
        "up": (HIDDEN, WIDE),
        "down": (WIDE, HIDDEN),
    }
    reads = {"o": "a", "gate": "h", "up": "h", "down": "z"}
    nodes = [
        node("MatMul", f"{reads[n]}{i} {n}{i}" if n in reads else f"x{i} {n}{i}", f"{n}_made{i}")
        for n in sizes
    ]
    attention = {"q_num_heads": HEADS, "kv_num_heads": GROUPS, "is_causal": 1}
    nodes += [
        node("Attention", f"q_made{i} k_made{i} v_made{i}", f"a{i}", attention),
        node("Add", f"x{i} o_made{i}", f"h{i}"),
        node("Mul", f"gate_made{i} up_made{i}", f"z{i}"),
        node("Add", f"h{i} down_made{i}", f"x{i + 1}"),
    ]
    return nodes, [_outside(f"{name}{i}", *dims) for name, dims in sizes.items()]


def test_seventy_thousand_million_parameters(tmp_path: Path) -> None:
    blocks = [_block(i) for i in range(BLOCKS)]
    nodes = [n for made, _ in blocks for n in made]
    stored = [tensor for _, tensors in blocks for tensor in tensors]
    source = model(nodes, {"x0": ("batch", "tokens", HIDDEN)}, stored)
    source.opset_import[0].version = 24
    source.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    path = tmp_path / "net.onnx"
    path.write_bytes(source.SerializeToString())
    assert path.stat().st_size < 500_000
    network = parse_onnx(path, dims={"batch": 1, "tokens": 512})
    parameters = HIDDEN * (2 * HEADS * HEAD + 2 * GROUPS * HEAD + 3 * WIDE)
    products = 512 * parameters + 2 * HEADS * 512 * 512 * HEAD
    assert BLOCKS * parameters > 68e9
    assert network.macs == BLOCKS * products
    assert {layer.operand("W").precision for layer in network.layers} == {16}


def test_a_hundred_thousand_nodes() -> None:
    """A tenth of them in ``make test``: still ten times what Python's stack could follow."""
    count = 100_000 if STRESS else 10_000
    nodes = [helper.make_node("Identity", [f"x{i}"], [f"x{i + 1}"]) for i in range(count)]
    network = parse_onnx(model(nodes, {"x0": (2, 3)}))
    assert len(network.nodes) == count
    last = network.nodes[-1]
    assert isinstance(last, NoCostNode)
    assert last.sources == (network.nodes[-2].name,)
    assert last.outputs[0].sizes == (2, 3)
