"""The immutable domain model: workloads, hardware, mappings, evaluations, several cores."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
