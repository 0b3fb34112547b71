"""nestmap maps the layers of a network onto an accelerator and computes energy and latency.

``explore`` searches a whole network, ``evaluate`` evaluates one mapping, ``resume`` continues an
interrupted exploration, and ``explain`` shows what determines the cost of a mapping.
``stream`` schedules a network on several cores; ``stream_plan`` gives its options.
``Recording`` selects the evaluations that a store records. ``conv2d``, ``gemm``, ``linear``,
``matmul`` and ``attention`` make layers, ``network`` makes a network of layers, and ``from_torch``
converts a PyTorch module. The domain model is in :mod:`nestmap.model`, the stage graph in
:mod:`nestmap.pipeline`, and access to recorded results in :mod:`nestmap.store`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nestmap.model.evaluation.recording import Recording as Recording
    from nestmap.model.evaluation.recording import RecordMode as RecordMode
    from nestmap.model.workload.builders import Precision as Precision
    from nestmap.model.workload.builders import attention as attention
    from nestmap.model.workload.builders import conv1d as conv1d
    from nestmap.model.workload.builders import conv2d as conv2d
    from nestmap.model.workload.builders import conv3d as conv3d
    from nestmap.model.workload.builders import gemm as gemm
    from nestmap.model.workload.builders import linear as linear
    from nestmap.model.workload.builders import matmul as matmul
    from nestmap.model.workload.builders import network as network
    from nestmap.pipeline.explore.api import Exploration as Exploration
    from nestmap.pipeline.explore.api import evaluate as evaluate
    from nestmap.pipeline.explore.api import explore as explore
    from nestmap.pipeline.explore.explanation import Explanation as Explanation
    from nestmap.pipeline.explore.explanation import explain as explain
    from nestmap.pipeline.explore.recorded_problem import recorded_problem as recorded_problem
    from nestmap.pipeline.explore.resume import resume as resume
    from nestmap.pipeline.frontend.torch import from_torch as from_torch
    from nestmap.pipeline.multicore.api import StreamResult as StreamResult
    from nestmap.pipeline.multicore.api import resume_stream as resume_stream
    from nestmap.pipeline.multicore.api import stream as stream
    from nestmap.pipeline.multicore.plan import StreamPlan as StreamPlan
    from nestmap.pipeline.multicore.plan import stream_plan as stream_plan

_HOMES = {
    "nestmap.model.workload.builders": (
        *("Precision", "attention", "conv1d", "conv2d", "conv3d"),
        *("gemm", "linear", "matmul", "network"),
    ),
    "nestmap.model.evaluation.recording": ("RecordMode", "Recording"),
    "nestmap.pipeline.explore.api": ("Exploration", "evaluate", "explore"),
    "nestmap.pipeline.explore.explanation": ("Explanation", "explain"),
    "nestmap.pipeline.explore.recorded_problem": ("recorded_problem",),
    "nestmap.pipeline.explore.resume": ("resume",),
    "nestmap.pipeline.multicore.api": ("StreamResult", "resume_stream", "stream"),
    "nestmap.pipeline.multicore.plan": ("StreamPlan", "stream_plan"),
    "nestmap.pipeline.frontend.torch": ("from_torch",),
}

NOTEBOOK_VIEWS = "nestmap.pipeline.render.notebook.views"
"""The modules that register notebook views; loaded when the first value is displayed."""

__all__ = [
    "Explanation",
    "Exploration",
    "Precision",
    "RecordMode",
    "Recording",
    "StreamPlan",
    "StreamResult",
    "attention",
    "conv1d",
    "conv2d",
    "conv3d",
    "evaluate",
    "explain",
    "explore",
    "from_torch",
    "gemm",
    "linear",
    "matmul",
    "network",
    "recorded_problem",
    "resume",
    "resume_stream",
    "stream",
    "stream_plan",
]


if not TYPE_CHECKING:  # otherwise type checkers would accept any name

    def __getattr__(name: str) -> object:
        """A name of the facade, imported on first use, so that ``nestmap --help`` is fast."""
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module 'nestmap' has no attribute {name!r}")
