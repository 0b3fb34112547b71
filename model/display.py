"""How values show themselves: in a line, and in notebooks by views of the render layer."""

from functools import singledispatch
from importlib import import_module


def costs_text(latency: float, energy: float) -> str:
    """Cycles and pJ in a few words, for the ``repr`` of results.

    >>> costs_text(1248163, 5.1164e9)
    '1,248,163 cycles, 5.116e+09 pJ'
    """
    return f"{latency:,.0f} cycles, {energy:.4g} pJ"


@singledispatch
def view(value: object) -> str | None:
    """The value as HTML; ``None``, so that IPython prints text, where its class has no view.

    ``view.register(Layer, layer_html)`` registers one, for subclasses too.
    """
    del value
    return None


def html(value: object) -> str | None:
    """The value as HTML; the ``_repr_html_`` of every class that has one.

    Loads the views that the top of the package names, so that models need not import them.
    """
    import_module(import_module("nestmap").NOTEBOOK_VIEWS)
    return view(value)
