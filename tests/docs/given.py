"""What the snippets of a document take as given: files and runs that the reader has."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from onnx import TensorProto, helper

from nestmap import explore
from nestmap.pipeline.frontend.bundled import resolve_accelerator
from tests.docs.blocks import ROOT


def record_run() -> None:
    """A run of a bundled network in the store."""
    explore("light:squeezenet", "tpu_like", search="loma", lpf_limit=2, store="nestmap.duckdb")


def model_file(name: str, *dimensions: str | int) -> Callable[[], None]:
    """An ONNX file with one product, whose input has these dimensions before the last."""

    def write() -> None:
        shape = [*dimensions, 64]
        weights = helper.make_tensor("w", TensorProto.FLOAT, [64, 32], [0.0] * 64 * 32)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
            "model",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [*dimensions, 32])],
            [weights],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        Path(name).write_bytes(model.SerializeToString())

    return write


def accelerator_file(name: str) -> Callable[[], None]:
    """An accelerator's description."""

    def write() -> None:
        text = resolve_accelerator("tpu_like").read_text(encoding="utf-8")
        Path(name).write_text(text, encoding="utf-8")

    return write


def file_here(name: str) -> Callable[[], None]:
    """A file of this repository, at its place."""

    def write() -> None:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes((ROOT / name).read_bytes())

    return write


GIVEN: Final[Mapping[str, tuple[Callable[[], None], ...]]] = MappingProxyType(
    {
        "docs/fused-mapping.md": (file_here("benchmarks/data/depfin/fsrcnn.yaml"),),
        "docs/networks.md": (model_file("model.onnx", "batch", "seq"),),
        "docs/schema.md": (record_run,),
        "docs/start.md": (model_file("net.onnx", 8), accelerator_file("machine.yaml")),
    }
)
"""By document."""
