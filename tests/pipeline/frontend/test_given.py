"""Dictionaries in the shape of files are read like the files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest
import yaml

from nestmap.model import InputError
from nestmap.pipeline.frontend.bundled import (
    accelerator_names,
    mapping_names,
    multicore_names,
    resolve_accelerator,
    resolve_mapping,
    resolve_multicore,
)
from nestmap.pipeline.frontend.data import bundled_cores
from nestmap.pipeline.frontend.read.accelerator import (
    read_accelerator,
    read_core_mapping,
    read_multicore,
)
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload

Fields = dict[str, object]

LAYER: Fields = {
    "id": 0,
    "operator_type": "Gemm",
    "equation": "O[b][k]+=W[k][c]*I[b][c]",
    "loop_dims": ("B", "K", "C"),
    "loop_sizes": [2, 8, 4],
    "operand_precision": {"W": 8, "I": 8, "O": 16},
}


def values(path: Path) -> Fields:
    """The content of a YAML file."""
    return cast(Fields, yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("name", accelerator_names())
def test_accelerators(name: str) -> None:
    assert read_accelerator(values(resolve_accelerator(name))) == read_accelerator(name)


@pytest.mark.parametrize("name", multicore_names())
def test_accelerators_with_several_cores(name: str) -> None:
    fields = values(resolve_multicore(name))
    cores = cast("dict[int, str]", fields["cores"])
    fields["cores"] = {i: values(bundled_cores()[Path(x).stem]) for i, x in cores.items()}
    assert read_multicore(fields) == read_multicore(name)


@pytest.mark.parametrize("name", mapping_names())
def test_mappings(name: str) -> None:
    entries = cast("Sequence[Mapping[str, object]]", values(resolve_mapping(name)))
    assert read_mapping(entries, for_accelerator=None) == read_mapping(name, for_accelerator=None)
    assert read_core_mapping(entries) == read_core_mapping(name)


def test_layers(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(yaml.safe_dump([LAYER | {"loop_dims": ["B", "K", "C"]}]))
    assert read_workload([LAYER]) == read_workload(file)


def test_errors_name_the_field_and_no_line() -> None:
    with pytest.raises(InputError, match=r"^workload: \[0\].loop_sizes\[1\]: found 'big'"):
        read_workload([LAYER | {"loop_sizes": [2, "big", 4]}])
    with pytest.raises(InputError, match=r"^accelerator: found a value of type object; expected"):
        read_accelerator({"name": object()})
    with pytest.raises(InputError, match=r"--dim N cannot be combined with workload"):
        read_workload([LAYER], {"N": 3})


def test_a_dictionary_that_contains_itself_is_an_error() -> None:
    fields = LAYER.copy()
    fields["operand_precision"] = fields
    with pytest.raises(InputError, match="contains itself"):
        read_workload([fields])
