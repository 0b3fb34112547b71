"""nestmap maps the layers of a network onto an accelerator and computes energy and latency.

``explore`` searches a whole network, ``explore_networks`` several, ``evaluate`` evaluates one
mapping, ``resume`` continues an interrupted exploration, and ``explain`` shows what determines the
cost of a mapping.
``stream`` schedules a network on several cores; ``stream_plan`` gives its options.
``sweep`` explores networks on the designs of a ``DesignSpace``.
``Recording`` selects the evaluations that a store records, ``RunLabel`` names a run. ``conv2d``,
``gemm``, ``linear``, ``matmul`` and ``attention`` make layers, ``network`` makes a network of
layers, and ``from_torch`` converts a PyTorch module. ``read_workload``, ``read_accelerator`` and
``read_mapping`` read files, ``Store`` opens recorded results, and errors are ``NestmapError``: of
input, of the store, or that no mapping fits. The domain model is in :mod:`nestmap.model`,
the stage graph in :mod:`nestmap.pipeline`, and access to recorded results in :mod:`nestmap.store`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

NOTEBOOK_VIEWS = "nestmap.pipeline.render.notebook.views"
"""The modules that register notebook views; loaded when the first value is displayed."""
