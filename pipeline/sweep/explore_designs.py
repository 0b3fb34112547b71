"""What explores designs, wherever it runs."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import Design

DesignPoints: TypeAlias = tuple[DesignResult, ...]
"""A design, mapped for each objective of its sweep that mappings decide, in their order."""

ExploreDesigns: TypeAlias = Callable[[Sequence[Design]], Iterator[DesignPoints]]
"""Explores designs; the results are in their order."""
