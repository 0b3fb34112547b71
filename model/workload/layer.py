"""A layer: a perfect loop nest over operands with affine indices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import TypeVar

from pydantic import Field, model_validator

from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import Dimension, LayerOperand, Loop, PaddedLoop, Relevance
from nestmap.model.units import Bits, Count, Density
from nestmap.model.workload.affine import AffineIndex

MAX_MACS = 2**53
"""The largest number of multiply-accumulates of a layer; beyond it a float is not exact."""


class InputOperand(Frozen, frozen=True):
    """A tensor that the layer reads.

    ``precision`` is bits per element; ``source`` the node that produces the tensor (``None``: an
    input of the network); ``constant``: whether it is known before the network runs (weights);
    ``density`` is the share of elements that are not zero, which lie anywhere. ``other_source`` is
    a node that a file names as source although its output has another shape; the input comes from
    outside.
    """

    name: LayerOperand
    indices: tuple[AffineIndex, ...]
    precision: Bits
    source: str | None = None
    constant: bool = False
    density: Density = 1.0
    other_source: str | None = None


class OutputOperand(Frozen, frozen=True):
    """The tensor that the layer writes.

    ``precision`` is the bits of a finished element, ``partial_precision`` those of a partial sum,
    which are no fewer: searches rely on it. ``density`` is the share of finished elements that are
    not zero. ``assumes_sums``: the network does not state ``partial_precision``, so that a machine
    may have narrower sums.
    """

    name: LayerOperand
    indices: tuple[AffineIndex, ...]
    precision: Bits
    partial_precision: Bits
    density: Density = 1.0
    assumes_sums: bool = False

    @model_validator(mode="after")
    def _check_sums(self) -> OutputOperand:
        if self.partial_precision < self.precision:
            raise ValueError(
                f"partial sums of {self.name} have {self.partial_precision} bits; expected at "
                f"least the {self.precision} bits of a finished element"
            )
        return self


Operand = InputOperand | OutputOperand

AnyOperand = TypeVar("AnyOperand", InputOperand, OutputOperand)


class Layer(Frozen, frozen=True):
    """One layer: loops over dimensions, one output, one or two inputs.

    ``unpadded`` are the sizes that the network needs of loops that iterate more often; all figures
    of the layer are those of the padded work. ``alias`` is the name that a file gives it, where
    another layer has it as well; entries of mappings for that name are for both.

    >>> from nestmap.model import layer_from_equation
    >>> fc = layer_from_equation("O[b][k]+=W[k][c]*I[b][c]", {"B": 1, "K": 8, "C": 4}, name="fc")
    >>> fc.macs, fc.elements("W")
    (32, 32)
    """

    name: str = Field(min_length=1)
    operator: str = Field(min_length=1)
    loops: tuple[Loop, ...] = Field(min_length=1)
    output: OutputOperand
    inputs: tuple[InputOperand, ...] = Field(min_length=1, max_length=2)
    unpadded: tuple[Loop, ...] = ()
    alias: str | None = None

    @model_validator(mode="after")
    def _check_consistency(self) -> Layer:
        _ = self._is_valid
        return self

    @cached_property
    def _is_valid(self) -> bool:
        """Cached, because every model that contains a layer validates it again."""
        _check_unique("loop dimension", [loop.dimension for loop in self.loops])
        _check_unique("operand", [operand.name for operand in self.operands])
        if self.macs > MAX_MACS:
            raise ValueError(
                f"layer {self.name} has {self.macs} multiply-accumulates; "
                f"expected at most 2**53 ({MAX_MACS}), beyond which counts are not exact"
            )
        known = set(self.sizes)
        for operand in self.operands:
            used = [d for index in operand.indices for d in index.dimensions]
            _check_unique(f"dimension in the indices of {operand.name}", used)
            for dimension in used:
                if dimension not in known:
                    raise ValueError(
                        f"operand {operand.name} is indexed by {dimension}; "
                        f"expected a loop dimension of the layer: {', '.join(self.sizes)}"
                    )
        _check_unique("unpadded loop", [loop.dimension for loop in self.unpadded])
        for loop in self.unpadded:
            if loop.size >= self.sizes.get(loop.dimension, 0):
                raise ValueError(
                    f"layer {self.name} is padded from {loop}; expected a smaller size of one of "
                    f"its loops: {', '.join(map(str, self.loops))}"
                )
        return True

    @cached_property
    def anonymous(self) -> Layer:
        """The layer without its name and sources; equal anonymous layers cost the same."""
        inputs = tuple(
            copy_with(operand, {"source": None, "other_source": None}) for operand in self.inputs
        )
        return copy_with(self, {"name": "layer", "alias": None, "inputs": inputs})

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The output first, then the inputs."""
        return (self.output, *self.inputs)

    @property
    def sizes(self) -> dict[Dimension, int]:
        """The size of each loop dimension."""
        return {loop.dimension: loop.size for loop in self.loops}

    @property
    def macs(self) -> Count:
        """Multiply-accumulates of the layer: the product of its loop sizes."""
        return prod(loop.size for loop in self.loops)

    def operand(self, name: LayerOperand) -> Operand:
        """The operand of that name.

        Raises:
            KeyError: if the layer has none.
        """
        for operand in self.operands:
            if operand.name == name:
                return operand
        raise KeyError(name)

    @property
    def padding(self) -> tuple[PaddedLoop, ...]:
        """The loops that iterate more often than the network needs."""
        sizes = self.sizes
        return tuple(
            PaddedLoop(dimension=x.dimension, size=x.size, padded=sizes[x.dimension])
            for x in self.unpadded
        )

    def padded(self, padded: Mapping[Dimension, int]) -> Layer:
        """The layer with larger loops: more work on more data.

        Dimensions that are not in ``padded`` stay as they are. Known lengths of axes grow with the
        loops, as the memories hold the padded tensors.
        """
        sizes = self.sizes | dict(padded)
        if sizes == self.sizes:
            return self
        added = {d: n - self.sizes[d] for d, n in sizes.items()}
        needed = self.sizes | {loop.dimension: loop.size for loop in self.unpadded}
        return copy_with(
            self,
            {
                "loops": tuple(Loop(dimension=d, size=n) for d, n in sizes.items()),
                "output": _padded_operand(self.output, added),
                "inputs": tuple(_padded_operand(x, added) for x in self.inputs),
                "unpadded": tuple(
                    Loop(dimension=d, size=needed[d]) for d, n in sizes.items() if n != needed[d]
                ),
            },
        )

    def is_part_of(self, whole: Layer) -> bool:
        """Whether it is another layer, or a tile of it: of the same loops, none of them larger."""
        sizes, others = self.sizes, whole.sizes
        alike = (self.name, self.operator, self.equation) == (
            whole.name,
            whole.operator,
            whole.equation,
        )
        return alike and [*sizes] == [*others] and all(sizes[d] <= others[d] for d in sizes)

    def elements(self, operand: LayerOperand) -> Count:
        """Elements of the operand's whole tensor that the layer touches."""
        return self._elements[operand]

    @cached_property
    def _elements(self) -> dict[LayerOperand, Count]:
        sizes, found = self.sizes, dict[LayerOperand, Count]()
        for operand in self.operands:
            wholes = (tuple(sizes[d] for d in index.dimensions) for index in operand.indices)
            pairs = zip(operand.indices, wholes, strict=True)
            found[operand.name] = prod(index.touched(whole, whole) for index, whole in pairs)
        return found

    def relevance(self, operand: LayerOperand, dimension: Dimension) -> Relevance:
        """How the dimension relates to the operand."""
        return self._relevance[operand, dimension]

    @cached_property
    def _relevance(self) -> dict[tuple[LayerOperand, Dimension], Relevance]:
        return {
            (operand.name, loop.dimension): _relevance_of(operand, loop)
            for operand in self.operands
            for loop in self.loops
        }

    @property
    def equation(self) -> str:
        """The layer as one line: ``O[b][k] += W[k][c] * I[b][c]``."""
        texts = [
            operand.name + "".join(f"[{index}]" for index in operand.indices)
            for operand in self.operands
        ]
        return f"{texts[0]} += {' * '.join(texts[1:])}"


def _relevance_of(operand: Operand, loop: Loop) -> Relevance:
    if loop.size == 1:
        return Relevance.NONE
    for index in operand.indices:
        if loop.dimension in index.dimensions:
            single = len(index.dimensions) == 1
            return Relevance.RELEVANT if single else Relevance.PARTIALLY_RELEVANT
    return Relevance.IRRELEVANT


def _padded_operand(operand: AnyOperand, added: Mapping[Dimension, int]) -> AnyOperand:
    indices = tuple(index.padded(added) for index in operand.indices)
    return copy_with(operand, {"indices": indices})


def _check_unique(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what} {name} occurs twice; expected different names")
