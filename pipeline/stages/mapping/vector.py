"""The stage that adds the vector operators of a network to the results of its layers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Generic, Never, TypeVar, final

from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import NetworkEvaluation, NetworkFront, NetworkProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage

R = TypeVar("R", NetworkEvaluation, NetworkFront)


@final
@dataclass(frozen=True, slots=True)
class VectorStage(Stage[NetworkProblem, R], Generic[R]):
    """The result of ``inner`` for the layers, together with the cost of every vector operator.

    With ``counted``, the totals include the vector operators. Otherwise they are listed
    separately, and the totals are comparable with those of tools that omit such operators.

    Raises:
        InputError: where a vector operator cannot be costed.
    """

    inner: Stage[NetworkProblem, R]
    counted: bool = False

    def __call__(self, network: NetworkProblem, /) -> R:
        nodes, accelerator = network.workload.vector_nodes, network.accelerator
        vector = tuple(evaluate_vector(node, accelerator) for node in nodes)
        updates: dict[str, object] = {"vector": vector, "vector_counted": self.counted}
        return copy_with(self.inner(network), updates)

    def stage_options(self) -> str:
        """Whether the totals include vector operators."""
        return json.dumps({"counted": self.counted})

    def inner_stages(self) -> tuple[Stage[Never, object], ...]:
        """None: ``inner`` runs once, before this stage."""
        return ()

    def stage_sequence(self) -> tuple[Stage[Never, object], ...]:
        """The stages of ``inner``, then this one."""
        return (*self.inner.stage_sequence(), self)
