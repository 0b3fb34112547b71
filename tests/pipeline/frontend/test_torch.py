"""PyTorch modules as workloads: with PyTorch where it is installed, else with a stand-in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import nestmap
from nestmap.model import InputError, Workload
from nestmap.pipeline.frontend.torch import NEEDED, TorchModule

INSTALLED = all(find_spec(package) is not None for package in NEEDED)
with_torch = pytest.mark.skipif(not INSTALLED, reason="needs nestmap[torch]")
without_torch = pytest.mark.skipif(INSTALLED, reason="PyTorch is installed")


class Module:
    """What from_torch may ask of a module."""

    def __init__(self, *children: Module, training: bool = True) -> None:
        self.training = training
        self.children = children

    def modules(self) -> Iterator[TorchModule]:
        """This one and all in it."""
        yield self
        for child in self.children:
            yield from child.modules()


STAND_INS = {
    "torch/__init__.py": "",
    "torch/onnx.py": """
from onnxscript import Program

def export(module, args, *, kwargs, dynamo, verbose, optimize):
    assert dynamo and not verbose and not optimize
    if any(part.training for part in module.modules()):
        raise RuntimeError("still training")
    if kwargs == {"x": "bad"}:
        try:
            raise ValueError("x is bad\\nand more")
        except ValueError as error:
            raise RuntimeError("step 1 failed") from error
    return Program(args or tuple(kwargs.values()))
""",
    "onnxscript.py": """
import numpy as np
from types import SimpleNamespace as Some

class Program:
    def __init__(self, shape):
        def stored(sizes, absent=False):
            return Some(
                size=int(np.prod(sizes)), nbytes=4 * int(np.prod(sizes)), raw=Some(is_meta=absent),
                dtype=Some(numpy=lambda: np.dtype("float32")), shape=Some(numpy=lambda: sizes),
            )
        values = {
            "w": Some(name="w", const_value=stored((shape[1], 4096))),
            "small": Some(name="small", const_value=stored((2,))),
            "absent": Some(name="absent", const_value=stored((2,), absent=True)),
        }
        self.model = Some(graph=Some(initializers=values), rows=shape[0], inner=shape[1])

    def optimize(self):
        values = self.model.graph.initializers
        assert values["w"].const_value.strides == (0, 0)
        assert values["absent"].const_value.strides == (0,)
        assert not hasattr(values["small"].const_value, "strides")
""",
    "onnx_ir.py": """
from onnx import TensorProto, helper
from types import SimpleNamespace as Some

def Tensor(array, *, name):
    return Some(
        size=array.size, nbytes=array.nbytes, strides=array.strides, name=name,
        dtype=Some(numpy=lambda: array.dtype), shape=Some(numpy=lambda: array.shape),
    )

def ExternalTensor(location, offset, length, dtype, *, shape, name, base_dir):
    return Some(location=location, shape=shape, name=name, length=length)

def to_proto(model):
    w = model.graph.initializers["w"].const_value
    assert w.length == 4 * model.inner * 4096
    weights = TensorProto(name="w", dims=w.shape.numpy(), data_type=TensorProto.FLOAT)
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=w.location)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "fc")],
        "exported",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (model.rows, model.inner))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
""",
}


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules with the names of PyTorch and its exporter."""
    for name, text in STAND_INS.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    invalidate_caches()
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in NEEDED]:
        del sys.modules[name]


@without_torch
@pytest.mark.usefixtures("stand_in")
def test_the_exported_model_is_parsed_without_its_weights() -> None:
    child = Module(training=False)
    module = Module(child)
    workload = nestmap.from_torch(module, (3, 5))
    (layer,) = workload.layers
    assert (workload.name, layer.name, layer.operator) == ("Module", "fc", "MatMul")
    assert layer.sizes == {"D": 3, "C": 5, "K": 4096}
    assert [x.constant for x in layer.inputs] == [False, True]
    assert (module.training, child.training) == (True, False)


@without_torch
@pytest.mark.usefixtures("stand_in")
def test_inputs_by_name_and_a_name() -> None:
    workload = nestmap.from_torch(Module(), {"a": 3, "b": 5}, name="mine")
    assert (workload.name, workload.macs) == ("mine", 3 * 5 * 4096)


@without_torch
@pytest.mark.usefixtures("stand_in")
def test_a_failed_export_says_why_and_changes_nothing() -> None:
    module = Module()
    with pytest.raises(InputError) as raised:
        nestmap.from_torch(module, {"x": "bad"})
    assert raised.value.where == "torch module 'Module'"
    assert raised.value.found == "ValueError: x is bad"
    assert "export" in raised.value.expected
    assert module.training


@pytest.mark.parametrize("missing", NEEDED)
def test_what_is_missing_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(package: str) -> object:
        return None if package == missing else sys

    monkeypatch.setattr("nestmap.pipeline.util.extras.find_spec", found)
    with pytest.raises(InputError, match=f"no {missing} in this Python.*nestmap.torch"):
        nestmap.from_torch(Module(), ())


Made = Callable[[ModuleType], Workload]


def conv_net(torch: ModuleType) -> Workload:
    nn = torch.nn
    module = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=8), nn.Flatten(), nn.Linear(8 * 6 * 6, 10),
    )  # fmt: skip
    return nestmap.from_torch(module, (torch.zeros(2, 3, 16, 16),), name="conv")


def attention(torch: ModuleType) -> Workload:
    module = torch.nn.MultiheadAttention(256, 8, batch_first=True)
    x = torch.zeros(2, 64, 256)
    return nestmap.from_torch(module, {"query": x, "key": x, "value": x, "need_weights": False})


def encoder(torch: ModuleType) -> Workload:
    with torch.device("meta"):  # 400 MB of weights that are not there
        module = torch.nn.TransformerEncoderLayer(4096, 32, 8192, batch_first=True)
        return nestmap.from_torch(module, (torch.zeros(1, 128, 4096),))


def lstm(torch: ModuleType) -> Workload:
    return nestmap.from_torch(torch.nn.LSTM(64, 128), (torch.zeros(10, 2, 64),))


@with_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("made", "macs"),
    [
        (conv_net, 2 * (16 * 16 * 8 * 27 + 6 * 6 * 8 * 9 + 288 * 10)),
        (attention, 2 * 64 * (4 * 256 * 256 + 2 * 64 * 256)),
        (encoder, 128 * (4 * 4096 * 4096 + 2 * 128 * 4096 + 2 * 4096 * 8192)),
        (lstm, 10 * 2 * 4 * 128 * (64 + 128)),
    ],
)
def test_modules_have_the_macs_of_their_definition(made: Made, macs: int) -> None:
    workload = made(pytest.importorskip("torch"))
    assert workload.macs == macs
    assert not workload.unknown_operators


@with_torch
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_exported_is_an_error_of_the_module() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(4, 4)
    with pytest.raises(InputError, match=r"torch module 'Linear': found \w+: .+; expected"):
        nestmap.from_torch(module, (torch.zeros(1, 5),))
    assert module.training
