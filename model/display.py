"""How values show themselves in notebooks: a registry of views, which the render layer fills."""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module


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
