"""Transformers by name, built from their published dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from nestmap.model import InputError, Workload
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.networks.bert import BERT
from nestmap.pipeline.frontend.networks.builder import Graph
from nestmap.pipeline.frontend.networks.dims import read_dims
from nestmap.pipeline.frontend.networks.generator import Generator
from nestmap.pipeline.frontend.networks.gpt import GPT
from nestmap.pipeline.frontend.networks.llama import LLAMA
from nestmap.pipeline.frontend.networks.vit import VIT

_GENERATORS: Final[Mapping[str, Generator]] = {**BERT, **GPT, **LLAMA, **VIT}


def network_names() -> tuple[str, ...]:
    """The networks; ``-block`` is one block of a network."""
    return tuple(_GENERATORS)


def network_dims(name: str) -> dict[str, int]:
    """The dimensions that a network leaves open, with their defaults.

    >>> network_dims("bert-base")
    {'batch': 1, 'seq': 384, 'weight_bits': 8, 'activation_bits': 8}

    Raises:
        InputError: where there is no such network.
    """
    return {dim.name: dim.default for dim in _generator(name).dims}


def generated_workload(name: str, dims: Mapping[str, int]) -> Workload:
    """The network of that name with these sizes; those that are not given have their defaults.

    >>> generated_workload("bert-base", {"seq": 128}).macs
    11174215680

    Raises:
        InputError: where there is no such network or dimension, or a size makes no sense.
    """
    where = f"network {name!r}"
    generator = _generator(name)
    asked = read_dims(where, generator.dims, dims)
    graph = Graph(asked.precision)
    try:
        generator.build(graph, asked)
        return Workload(name=name, nodes=tuple(graph.nodes))
    except ValidationError as error:
        raise InputError.of(where, error) from None


def _generator(name: str) -> Generator:
    if name not in _GENERATORS:
        raise InputError("network", repr(name), suggestion(name, network_names()))
    return _GENERATORS[name]
