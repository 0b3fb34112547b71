"""Small random networks of layers, vector operators and data movement, made by Hypothesis."""

from dataclasses import dataclass, field
from math import prod

from hypothesis import strategies as st

from nestmap.model import (
    InputOperand,
    Layer,
    LayerNode,
    Loop,
    NoCostNode,
    OutputOperand,
    Tensor,
    VectorNode,
    Workload,
)
from nestmap.model.workload.access import (
    AccessRoute,
    AccessStep,
    Gather,
    InputAccess,
    Permute,
    Repeat,
    Reshape,
    Shift,
    VectorNest,
)
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.graph import Node
from nestmap.model.workload.loop_nests import Axis, Channels, LoopNest, convolution, matrix_product

NAMES = ("B", "K", "OY", "OX")


@dataclass
class Made:
    """The nodes so far, and the tensors that others may read."""

    nodes: list[Node] = field(default_factory=list[Node])
    tensors: list[tuple[Tensor, str]] = field(default_factory=list[tuple[Tensor, str]])

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        self.tensors += [(tensor, node.name) for tensor in node.outputs]

    def tensor(self, sizes: tuple[int, ...]) -> Tensor:
        return Tensor(name=f"t{len(self.nodes)}", sizes=sizes, precision=8)

    @property
    def name(self) -> str:
        return f"n{len(self.nodes)}"


def _layer(made: Made, nest: LoopNest, read: tuple[Tensor, str | None], out: Tensor) -> None:
    """A layer whose input ``I`` is the tensor, and whose weights are constant."""
    tensor, source = read
    inputs = [
        InputOperand(
            name=access.operand,
            indices=access.indices,
            precision=8,
            source=source if access.operand == "I" else None,
            constant=access.operand == "W",
        )
        for access in nest.inputs
    ]
    weights = Tensor(name=f"{out.name}.w", sizes=None, precision=8, constant=True)
    layer = Layer(
        name=made.name,
        operator="Layer",
        loops=nest.loops,
        output=OutputOperand(name="O", indices=nest.output, precision=8, partial_precision=16),
        inputs=tuple(inputs),
    )
    positions = tuple(0 if operand.name == "I" else 1 for operand in inputs)
    made.add(LayerNode(layer=layer, inputs=(tensor, weights), outputs=(out,), positions=positions))


@st.composite
def _axes(draw: st.DrawFn, letter: str, size: int) -> Axis:
    kernel, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    padding = (draw(st.integers(0, 1)), draw(st.integers(0, 1)))
    axis = Axis(
        letter=letter,
        input=size,
        kernel=kernel,
        stride=draw(st.integers(1, 3)),
        dilation=dilation,
        padding=padding,
    )
    return axis if axis.output_size >= 1 else Axis(letter=letter, input=size)


def _image(tensor: Tensor) -> tuple[int, int, int, int]:
    batch, channels, height, width = tensor.sizes or (1, 1, 1, 1)
    return batch, channels, height, width


@st.composite
def _conv(draw: st.DrawFn, made: Made, read: tuple[Tensor, str | None]) -> None:
    batch, channels, height, width = _image(read[0])
    groups = draw(st.sampled_from([n for n in range(1, channels + 1) if channels % n == 0]))
    outputs = draw(st.integers(1, 2))
    axes = [draw(_axes("Y", height)), draw(_axes("X", width))]
    nest = convolution(
        axes, Channels(batch=batch, groups=groups, outputs=outputs, inputs=channels // groups)
    )
    out = made.tensor((batch, groups * outputs, *(axis.output_size for axis in axes)))
    _layer(made, nest, read, out)


@st.composite
def _matmul(draw: st.DrawFn, made: Made, read: tuple[Tensor, str | None]) -> None:
    *stack, rows, inner = read[0].sizes or (1, 1)
    columns = draw(st.integers(1, 3))
    nest = matrix_product({"D": rows, "C": inner, "K": columns}, stack, ())
    _layer(made, nest, read, made.tensor((*stack, rows, columns)))


def plain(*dimensions: str) -> tuple[AffineIndex, ...]:
    return tuple(AffineIndex(terms=(Term(dimension=d),)) for d in dimensions)


def _vector(made: Made, nest: VectorNest, reads: list[Tensor], sizes: tuple[int, ...]) -> None:
    names = {tensor.name: source for tensor, source in made.tensors}
    made.add(
        VectorNode(
            name=made.name,
            operator="Vector",
            sources=tuple(dict.fromkeys(names[x.name] for x in reads if x.name in names)),
            iterations=tuple(loop.size for loop in nest.loops),
            inputs=tuple(reads),
            outputs=(made.tensor(sizes),),
            nest=nest,
        )
    )


@st.composite
def _pool(draw: st.DrawFn, made: Made, read: tuple[Tensor, str | None]) -> None:
    batch, channels, height, width = _image(read[0])
    axes = [draw(_axes("Y", height)), draw(_axes("X", width))]
    sizes = (batch, channels, *(axis.output_size for axis in axes))
    loops = [*zip(NAMES, sizes, strict=True), *((f"F{x.letter}", x.kernel) for x in axes)]
    nest = VectorNest(
        loops=tuple(Loop(dimension=d, size=n) for d, n in loops),
        output=plain(*NAMES),
        inputs=(InputAccess(axes=(*plain("B", "K"), *(axis.index for axis in axes))),),
    )
    _vector(made, nest, [read[0]], sizes)


@st.composite
def _rows(draw: st.DrawFn, made: Made, read: tuple[Tensor, str | None]) -> None:
    """An operator over whole rows of an axis, such as softmax, or element by element."""
    sizes = read[0].sizes or ()
    names = tuple(f"D{place}" for place in range(len(sizes)))
    whole = draw(st.sampled_from([None, *range(len(sizes))]))
    indices = plain(*names)
    axes = tuple(None if place == whole else index for place, index in enumerate(indices))
    nest = VectorNest(
        loops=tuple(Loop(dimension=d, size=n) for d, n in zip(names, sizes, strict=True)),
        output=indices,
        inputs=(InputAccess(axes=axes),),
    )
    _vector(made, nest, [read[0]], sizes)


@st.composite
def _broadcast(draw: st.DrawFn, made: Made, read: tuple[Tensor, str | None]) -> None:
    """The largest along an axis, subtracted from all along it: an input that is repeated."""
    sizes = read[0].sizes or ()
    axis = draw(st.integers(0, len(sizes) - 1))
    names = tuple(f"D{place}" for place in range(len(sizes)))
    loops = tuple(Loop(dimension=d, size=n) for d, n in zip(names, sizes, strict=True))
    all_of_it = InputAccess(axes=plain(*names))
    kept = tuple("ONE" if place == axis else name for place, name in enumerate(names))
    largest = VectorNest(
        loops=(*loops, Loop(dimension="ONE", size=1)), output=plain(*kept), inputs=(all_of_it,)
    )
    _vector(made, largest, [read[0]], _with(sizes, axis, 1))
    repeated = tuple(None if place == axis else x for place, x in enumerate(plain(*names)))
    subtracted = VectorNest(
        loops=loops, output=plain(*names), inputs=(all_of_it, InputAccess(axes=repeated))
    )
    _vector(made, subtracted, [read[0], made.tensors[-1][0]], sizes)


@st.composite
def _moved(draw: st.DrawFn, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], AccessStep]:
    """An operator that moves data: the sizes of its output, and the step back from there."""
    axis = draw(st.integers(0, len(sizes) - 1))
    size = sizes[axis]
    match draw(st.sampled_from(["reshape", "permute", "slice", "pad", "repeat", "take"])):
        case "reshape":
            return draw(_factored(prod(sizes))), Reshape(sizes=sizes)
        case "permute":
            order = draw(st.permutations(range(len(sizes))))
            back = tuple(order.index(place) for place in range(len(sizes)))
            return tuple(sizes[place] for place in order), Permute(axes=back)
        case "slice":
            first, last = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
            step = draw(st.integers(1, 2)) * (1 if first <= last else -1)
            count = abs(last - first) // abs(step) + 1
            there = Shift(axis=axis, start=first, step=step, size=size)
            return _with(sizes, axis, count), there
        case "pad":
            before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
            there = Shift(axis=axis, start=-before, size=size)
            return _with(sizes, axis, before + size + after), there
        case "repeat":
            times = draw(st.integers(1, 2))
            return _with(sizes, axis, times * size), Repeat(axis=axis, size=size)
        case _:
            indices = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=4))
            taken = Gather(axis=axis, indices=tuple(indices), size=size)
            return _with(sizes, axis, len(indices)), taken


def _with(sizes: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


@st.composite
def _factored(draw: st.DrawFn, count: int) -> tuple[int, ...]:
    """Sizes of one to four axes with so many elements."""
    sizes: list[int] = []
    for _ in range(draw(st.integers(0, 3))):
        divisors = [n for n in range(1, count + 1) if count % n == 0]
        sizes.append(draw(st.sampled_from(divisors)))
        count //= sizes[-1]
    return (*sizes, count)


def _move(made: Made, reads: list[Tensor], routes: tuple[AccessRoute, ...], out: Tensor) -> None:
    names = {tensor.name: source for tensor, source in made.tensors}
    sources = tuple(dict.fromkeys(names[x.name] for x in reads if x.name in names))
    made.add(
        NoCostNode(
            name=made.name,
            operator="Move",
            sources=sources,
            inputs=tuple(reads),
            outputs=(out,),
            routes=routes,
        )
    )


@st.composite
def _movement(draw: st.DrawFn, made: Made, read: tuple[Tensor, str | None]) -> None:
    sizes, step = draw(_moved(read[0].sizes or ()))
    _move(made, [read[0]], (AccessRoute(steps=(step,)),), made.tensor(sizes))


@st.composite
def _joined(draw: st.DrawFn, made: Made, read: tuple[Tensor, str | None]) -> None:
    """The tensor and another one, or itself once more, one after the other along an axis."""
    sizes = read[0].sizes or ()
    axis = draw(st.integers(0, len(sizes) - 1))
    alike = [
        tensor
        for tensor, _ in made.tensors
        if len(tensor.sizes or ()) == len(sizes)
        and _with(tensor.sizes or (), axis, 0) == _with(sizes, axis, 0)
    ]
    other = draw(st.sampled_from([read[0], *alike]))
    length = (other.sizes or ())[axis]
    routes = (
        AccessRoute(steps=(Shift(axis=axis, size=sizes[axis]),)),
        AccessRoute(input=1, steps=(Shift(axis=axis, start=-sizes[axis], size=length),)),
    )
    out = made.tensor(_with(sizes, axis, sizes[axis] + length))
    _move(made, [read[0], other], routes, out)


@st.composite
def networks(draw: st.DrawFn) -> Workload:
    """A network of some nodes: the first one a convolution, the last one over rows."""
    made = Made()
    sizes = draw(st.tuples(*(st.integers(low, 4) for low in (1, 1, 2, 2))))
    draw(_conv(made, (Tensor(name="image", sizes=sizes, precision=8), None)))
    for _ in range(draw(st.integers(2, 6))):
        last = made.tensors[-1]
        _ = draw(_more(made, draw(st.sampled_from([last, last, *made.tensors]))))
    draw(_rows(made, made.tensors[-1]))
    return Workload.of(*made.nodes, name="random")


def _more(made: Made, read: tuple[Tensor, str | None]) -> st.SearchStrategy[None]:
    """One more node that reads a tensor."""
    sizes = read[0].sizes or ()
    kinds = [_movement, _movement, _movement, _joined, _rows, _broadcast]
    if len(sizes) == 4:
        kinds += [_conv, _conv, _pool, _matmul]
    elif len(sizes) in (2, 3):
        kinds += [_matmul, _matmul]
    if prod(sizes) > 200:  # else the marking takes long
        kinds = [_rows]
    return st.sampled_from(kinds).flatmap(lambda kind: kind(made, read))
