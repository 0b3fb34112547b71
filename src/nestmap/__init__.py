"""nestmap: how to map every layer of a network onto an accelerator, and what that costs.

``explore`` searches a whole network, ``evaluate`` costs one mapping, ``resume`` goes on with an
exploration that was interrupted, ``explain`` says what a mapping does and what would help;
``stream`` schedules a network on several cores, as a ``stream_plan`` says;
``Recording`` says what a store keeps. ``conv2d``, ``gemm``, ``linear``, ``matmul`` and
``attention`` make layers, ``network`` a network of them, ``from_torch`` one of a PyTorch module.
The domain model is in :mod:`nestmap.model`, the stage graph in :mod:`nestmap.pipeline`, past
results in :mod:`nestmap.store`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nestmap.model.build import Precision as Precision
    from nestmap.model.build import attention as attention
    from nestmap.model.build import conv1d as conv1d
    from nestmap.model.build import conv2d as conv2d
    from nestmap.model.build import conv3d as conv3d
    from nestmap.model.build import gemm as gemm
    from nestmap.model.build import linear as linear
    from nestmap.model.build import matmul as matmul
    from nestmap.model.build import network as network
    from nestmap.model.recording import Recording as Recording
    from nestmap.model.recording import RecordMode as RecordMode
    from nestmap.pipeline.api import Exploration as Exploration
    from nestmap.pipeline.api import evaluate as evaluate
    from nestmap.pipeline.api import explore as explore
    from nestmap.pipeline.explain import Explanation as Explanation
    from nestmap.pipeline.explain import explain as explain
    from nestmap.pipeline.explain import recorded_problem as recorded_problem
    from nestmap.pipeline.resume import resume as resume
    from nestmap.pipeline.stream import StreamResult as StreamResult
    from nestmap.pipeline.stream import resume_stream as resume_stream
    from nestmap.pipeline.stream import stream as stream
    from nestmap.pipeline.stream_plan import StreamPlan as StreamPlan
    from nestmap.pipeline.stream_plan import stream_plan as stream_plan
    from nestmap.pipeline.torch import from_torch as from_torch

_HOMES = {
    "nestmap.model.build": (
        *("Precision", "attention", "conv1d", "conv2d", "conv3d"),
        *("gemm", "linear", "matmul", "network"),
    ),
    "nestmap.model.recording": ("RecordMode", "Recording"),
    "nestmap.pipeline.api": ("Exploration", "evaluate", "explore"),
    "nestmap.pipeline.explain": ("Explanation", "explain", "recorded_problem"),
    "nestmap.pipeline.resume": ("resume",),
    "nestmap.pipeline.stream": ("StreamResult", "resume_stream", "stream"),
    "nestmap.pipeline.stream_plan": ("StreamPlan", "stream_plan"),
    "nestmap.pipeline.torch": ("from_torch",),
}

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


if not TYPE_CHECKING:  # else any name would be right to type checkers

    def __getattr__(name: str) -> object:
        """The facade, imported when it is first used: ``nestmap --help`` needs none of it."""
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module 'nestmap' has no attribute {name!r}")
