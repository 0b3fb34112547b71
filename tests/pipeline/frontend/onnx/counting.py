"""Numbers that count how often they are multiplied, to run definitions of operators with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]


@final
class Products:
    """How many products were formed."""

    def __init__(self) -> None:
        self.count = 0

    def array(self, *sizes: int) -> Numbers:
        """An array of numbers whose products are counted here."""
        return np.array([_Number(self) for _ in range(int(np.prod(sizes)))]).reshape(sizes)


@final
class _Number:
    """A number without a value: a product counts, a sum costs nothing."""

    def __init__(self, products: Products) -> None:
        self.products = products

    def __mul__(self, other: object) -> _Number:
        self.products.count += 1
        return self

    def __add__(self, other: object) -> _Number:
        return self

    __radd__ = __add__


def products_of_einsum(equation: str, shapes: Sequence[Sequence[int]]) -> int:
    """The products that NumPy forms for the equation, two tensors at once."""
    products = Products()
    np.einsum(equation, *(products.array(*shape) for shape in shapes), optimize=False)
    return products.count


def products_of_matmul(left: Sequence[int], right: Sequence[int]) -> int:
    """The products that NumPy forms for a product of stacks of matrices."""
    products = Products()
    np.matmul(products.array(*left), products.array(*right))
    return products.count
