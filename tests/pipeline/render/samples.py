"""Evaluations to draw: small layers with given mappings on bundled machines, under any names."""

from collections.abc import Sequence
from functools import cache
from math import ceil

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Cuts,
    LayerResult,
    Loop,
    MappingProblem,
    NetworkEvaluation,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Unrolling,
    VectorEvaluation,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend.read.accelerator import read_accelerator

HOSTILE = (
    "$x_1$",
    "a_b^c",
    r"\frac{a}{b}",
    "\u4e2d\u6587",
    "two\nlines",
    "<b>&amp;</b> --",
    "%s {0}",
    "/bert/encoder/layer.11/attention/self/query/MatMul_quant",
    "A" * 200,
    "$",
    "_",
    "\U0001f389",
    " ",
)
"""Names that markup, mathematics, fonts or formats could trip over."""


@cache
def machine(name: str) -> Accelerator:
    """A bundled machine, with what leaks on it where that is known."""
    return read_accelerator(name, static_energy=name == "edge_22nm")


@cache
def evaluated(accelerator: str, b: int, k: int, c: int) -> CostModelEvaluation:
    """A matrix product: innermost C in the innermost memories, all else in the next ones."""
    layer = layer_from_equation(
        "O[b][k]+=W[k][c]*I[b][c]", {"B": b, "K": k, "C": c}, name="layer", operator="Gemm"
    )
    problem = MappingProblem(layer=layer, accelerator=machine(accelerator))
    first, second, *_ = machine(accelerator).array.sides
    unrolled = (min(k, first.size), min(c, second.size))
    spatial = SpatialMapping(
        unrollings=(
            Unrolling(array_dimension=first.name, loops=(Loop(dimension="K", size=unrolled[0]),)),
            Unrolling(array_dimension=second.name, loops=(Loop(dimension="C", size=unrolled[1]),)),
        )
    )
    sizes = {"C": ceil(c / unrolled[1]), "K": ceil(k / unrolled[0]), "B": b}
    order = tuple(Loop(dimension=name, size=size) for name, size in sizes.items() if size > 1)
    cuts = tuple(
        Cuts(operand=operand, positions=_positions(len(problem.levels(operand)), len(order)))
        for operand in problem.links
    )
    mapping = TemporalMapping(order=order, cuts=cuts)
    return evaluate(SpatialProblem(problem=problem, spatial_mapping=spatial), mapping)


def _positions(levels: int, loops: int) -> tuple[int, ...]:
    return (*(min(1 + i, loops) for i in range(levels - 1)), loops)


def network(
    names: Sequence[str], accelerator: str = "tpu_like", *, vector: bool = False
) -> NetworkEvaluation:
    """A layer for each name; they differ in size. With ``vector`` an operator that counts."""
    sizes = ((8, 64, 128), (1, 256, 64), (32, 64, 64), (4, 128, 256))
    cmes = (evaluated(accelerator, *sizes[i % len(sizes)]) for i in range(len(names)))
    results = (
        LayerResult(cme=copy_with(cme, {"layer": name}))
        for cme, name in zip(cmes, names, strict=True)
    )
    operators = (pooling(),) if vector else ()
    return NetworkEvaluation(layers=tuple(results), vector=operators, vector_counted=vector)


def pooling() -> VectorEvaluation:
    """A vector operator."""
    return VectorEvaluation(
        node="pool",
        operator="MaxPool",
        memory="dram",
        operations=1000,
        bits_read=8000,
        bits_written=2000,
        words_read=125,
        words_written=32,
        operation_energy=1000.0,
        memory_energy=90000.0,
        compute_cycles=32,
        traffic_cycles=157,
    )


def many_names(count: int) -> tuple[str, ...]:
    """So many different names, long and hostile ones among them."""
    return tuple(f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(count))
