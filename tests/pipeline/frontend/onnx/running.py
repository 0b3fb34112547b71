"""Runs ONNX models as the onnx package itself does."""

from collections.abc import Mapping, Sequence
from typing import cast, final

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tests.pipeline.frontend.onnx.node_cases import Array


@final
class Runner:
    """A model that can be run again and again."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.reads = tuple(value.name for value in model.graph.input)
        self._evaluator = ReferenceEvaluator(model)

    def __call__(self, inputs: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs for these inputs; what is not read is left out."""
        feeds = {name: inputs[name] for name in self.reads}
        with np.errstate(all="ignore"):
            found = self._evaluator.run(None, feeds)  # pyright: ignore[reportUnknownMemberType]
        return tuple(np.asarray(x) for x in cast("Sequence[Array]", found))
