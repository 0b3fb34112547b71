"""Matplotlib figures for papers and screens.

Needs ``pip install nestmap[plot]``. Each ``..._figure`` returns a ``matplotlib.figure.Figure``
without using pyplot and its global state; ``save`` writes one as PNG, SVG or PDF.
"""

import lazy_loader

_imported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """The functions, imported on first use: matplotlib takes long to import."""
    if name in __all__:
        from nestmap.pipeline.render.figures.preconditions import check_matplotlib  # noqa: PLC0415

        check_matplotlib()
    return _imported(name)
