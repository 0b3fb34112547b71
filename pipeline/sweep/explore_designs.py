"""What explores designs, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from nestmap.model.design_space.design import Design
from nestmap.model.design_space.result import DesignResult

ExploreDesigns: TypeAlias = Callable[[Sequence[Design]], Iterator[DesignResult]]
"""Explores designs; the results are in their order."""
