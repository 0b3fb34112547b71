"""Builds networks by name from their published dimensions."""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from nestmap.model import InputError, Workload
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.networks.classifiers import CLASSIFIERS
from nestmap.pipeline.frontend.networks.dense import DENSE
from nestmap.pipeline.frontend.networks.dims import read_dims
from nestmap.pipeline.frontend.networks.encoders import BERT, VIT
from nestmap.pipeline.frontend.networks.generator import Generator
from nestmap.pipeline.frontend.networks.gpt import GPT
from nestmap.pipeline.frontend.networks.hierarchical import HIERARCHICAL
from nestmap.pipeline.frontend.networks.llama import LLAMA
from nestmap.pipeline.frontend.networks.mobile import MOBILE

_GENERATORS: Final[Mapping[str, Generator]] = {
    **CLASSIFIERS,
    **MOBILE,
    **HIERARCHICAL,
    **VIT,
    **DENSE,
    **BERT,
    **GPT,
    **LLAMA,
}


def network_names() -> tuple[str, ...]:
    """The names of the networks; ``NAME-block`` is a single block of a network."""
    return tuple(_GENERATORS)


def network_dims(name: str) -> dict[str, int]:
    """The open dimensions of a network, with their defaults.

    >>> network_dims("bert-base")
    {'batch': 1, 'seq': 384, 'weight_bits': 8, 'activation_bits': 8}

    Raises:
        InputError: if no network has that name.
    """
    return {dim.name: dim.default for dim in _generator(name).dims}


def generate_workload(name: str, dims: Mapping[str, int]) -> Workload:
    """The named network with the given sizes; other open dimensions take their defaults.

    >>> generate_workload("bert-base", {"seq": 128}).macs
    11174215680

    Raises:
        InputError: if there is no such network or dimension, or a size is out of range.
    """
    where = f"network {name!r}"
    generator = _generator(name)
    asked = read_dims(where, generator.dims, dims)
    try:
        return Workload(name=name, nodes=generator.make(asked))
    except ValidationError as error:
        raise InputError.of(where, error) from None


def _generator(name: str) -> Generator:
    if name not in _GENERATORS:
        raise InputError("network", repr(name), suggestion(name, network_names()))
    return _GENERATORS[name]
