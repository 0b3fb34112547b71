"""Shapes, sources and precisions of the layer builders, checked before use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self, final

from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand
from nestmap.model.errors import InputError
from nestmap.model.units import Bits
from nestmap.model.workload.access import Tensor
from nestmap.model.workload.graph import Node
from nestmap.model.workload.layer import InputOperand, Layer, OutputOperand
from nestmap.model.workload.loop_nests import LoopNest

Shape = Sequence[int]
"""The sizes of a tensor, from its outermost axis."""

NetworkPart = Layer | Node
"""An element of a network: a layer or a node."""

Source = NetworkPart | tuple[NetworkPart, ...] | str | None
"""The producer of a tensor: a part, several parts (the last counts) or a name; ``None``: none."""

_LIMIT: Final = 2**31


class Precision(Frozen, frozen=True):
    """Bits per element of weights, activations, finished outputs and partial sums.

    By default ``output`` is as wide as ``activation``, and ``partial_sum`` twice as wide as
    ``output``.
    """

    weight: Bits = 8
    activation: Bits = 8
    output: Bits | None = None
    partial_sum: Bits | None = None

    @property
    def output_bits(self) -> Bits:
        """Bits of a finished output."""
        return self.activation if self.output is None else self.output

    @property
    def partial_sum_bits(self) -> Bits:
        """Bits of a partial sum."""
        return 2 * self.output_bits if self.partial_sum is None else self.partial_sum


EIGHT_BIT: Final = Precision()
"""Weights and activations of 8 bits, partial sums of 16 bits."""


@final
@dataclass(frozen=True)
class LayerDraft:
    """A layer under construction: its builder function, name, operator and precision."""

    maker: str
    name: str
    operator: str
    precision: Precision

    def with_name(self, name: str) -> Self:
        """The same draft under another name."""
        return replace(self, name=name)

    def error(self, found: str, expected: str) -> InputError:
        """An error located at the layer."""
        return InputError(f"{self.maker} {self.name!r}", found, expected)

    def check_axes(self, what: str, given: Shape, axes: Sequence[str]) -> tuple[int, ...]:
        """The sizes of a tensor with these axes.

        Raises:
            InputError: if the number of sizes is not that of the axes, or a size is not positive.
        """
        if len(given) != len(axes):
            raise self.error(
                f"{what} {format_sizes(given)}", f"{len(axes)} sizes: {', '.join(axes)}"
            )
        return self.check_sizes(what, given, 1)

    def check_stack(self, what: str, given: Shape) -> tuple[int, ...]:
        """The sizes of a matrix or a stack of matrices.

        Raises:
            InputError: if it has fewer than two axes, or a size is not positive.
        """
        if len(given) < 2:
            raise self.error(
                f"{what} {format_sizes(given)}", "two sizes or more: a (stack of) matrices"
            )
        return self.check_sizes(what, given, 1)

    def check_sizes(self, what: str, given: Shape, least: int) -> tuple[int, ...]:
        """The given numbers, after checking that each is an integer from ``least`` to 2**31 - 1.

        Raises:
            InputError: if one is not.
        """
        for size in given:
            if type(size) is not int or not least <= size < _LIMIT:
                raise self.error(
                    f"{what} {format_sizes(given)}", f"whole numbers from {least} to 2**31 - 1"
                )
        return tuple(given)

    def layer(
        self, nest: LoopNest, sources: Mapping[LayerOperand, Source], constant: LayerOperand = ""
    ) -> Layer:
        """The layer with that nest; ``constant`` is the operand that holds weights."""
        bits = self.precision
        return Layer(
            name=self.name,
            operator=self.operator,
            loops=nest.loops,
            output=OutputOperand(
                name="O",
                indices=nest.output,
                precision=bits.output_bits,
                partial_precision=bits.partial_sum_bits,
            ),
            inputs=tuple(
                InputOperand(
                    name=access.operand,
                    indices=access.indices,
                    precision=bits.weight if access.operand == constant else bits.activation,
                    source=source_name(sources.get(access.operand)),
                    constant=access.operand == constant,
                )
                for access in nest.inputs
            ),
        )

    def tensor(self, name: str, sizes: tuple[int, ...]) -> Tensor:
        """A tensor of activations."""
        return Tensor(name=name, sizes=sizes, precision=self.precision.activation)


def source_name(source: Source) -> str | None:
    """The name of the producer of a tensor."""
    if source is None or isinstance(source, str):
        return source
    return source[-1].name if isinstance(source, tuple) else source.name


def format_sizes(sizes: Shape) -> str:
    """Sizes as text: ``1 x 3 x 224``."""
    return " x ".join(map(str, sizes)) or "()"
