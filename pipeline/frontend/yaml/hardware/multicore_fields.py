"""The fields of descriptions of several cores: of today, and of Stream in 2024."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Form, Forms, Origin
from nestmap.pipeline.frontend.yaml.file_model import (
    Count,
    Energy,
    FileModel,
    Number,
    Text,
    Whole,
    Written,
    ignored,
)
from nestmap.pipeline.frontend.yaml.hardware.core import CoreFields, StorageCoreFields

CORES: Final = "cores"
OFFCHIP_CORE: Final = "offchip_core"
"""The field of the off-chip core in descriptions of 2024."""
OFFCHIP_NUMBER: Final = "offchip_core_id"
"""The field that says which core is off the chip."""
CONNECTIONS: Final = "core_connectivity"
SHARING: Final = "core_memory_sharing"
COORDINATES: Final = "core_coordinates"
COPIES: Final = "copies"

BY_NUMBER: Final = (CORES, COORDINATES, COPIES)
"""The fields at the root whose keys are numbers of cores."""

MOST_COPIES: Final = 1024
"""The largest number of equal cores."""

NUMBERS: Final = "two or more different cores by their numbers, such as [0, 1]"
CORE_NUMBER: Final = "the number of a core"
SEVERAL: Final = "two cores or more by number"
_BANDWIDTH: Final = "a positive number of bit/cycle, or unlimited"
_PAIRS: Final = "a list of pairs of cores"
_SHARED: Final = "a list of cores that share memory"
_COPIES: Final = "numbers of equal cores by number of the core"
_COORDINATES: Final = "column and row by number of the core"


class ConnectionType(StrEnum):
    """The kind of a connection between cores."""

    LINK = "link"
    BUS = "bus"
    MESH = "mesh"


def _listed(given: object) -> object:
    """The numbers of a text such as "0, 1"; anything else as it is."""
    parts = [part.strip() for part in given.split(",")] if isinstance(given, str) else []
    are_numbers = all(part.isdecimal() and part.isascii() and len(part) < 11 for part in parts)
    return tuple(map(int, parts)) if parts and are_numbers else given


def _unread(given: object) -> object:
    """A core as it is given: it is read with its number, perhaps from a file."""
    return given


def _bandwidth(given: object, check: ValidatorFunctionWrapHandler) -> int | None:
    if given is None:
        raise ValueError("no bandwidth")
    checked: int | None = check(None if given == "unlimited" else given)
    return checked


CoreNumbers = Annotated[
    tuple[Number, ...],
    BeforeValidator(_listed, json_schema_input_type=tuple[int, ...] | str),
    Written(NUMBERS),
]
CoreEntry = Annotated[
    object, PlainValidator(_unread, json_schema_input_type=str | CoreFields | StorageCoreFields)
]
"""The file of a core, or the core itself."""
Bandwidth = Annotated[
    Count | None, WrapValidator(_bandwidth, json_schema_input_type=Count | Literal["unlimited"])
]
"""Bits per cycle; ``None`` if unlimited."""


ENTRIES: Final = Forms(
    "Cores",
    "By number, starting at 0, each once: the file of a [core](#core-that-computes), or the "
    "contents of such a file. A file is looked up in the folder of the accelerator's file, then in "
    "its subfolder `cores`, then among the bundled cores.",
    (Form("3: meta_prototype.yaml", "core 3 is described in that file"),),
)

PAIRS: Final = Forms(
    "Pairs of cores",
    "Each item connects two cores by a link in each direction.",
    (Form('"0, 1"', "cores 0 and 1"),),
)

SHARED: Final = Forms(
    "Shared memories",
    "Cores that share memory, without the off-chip core. They share the outermost memories that "
    "all of them have under the same name; size, ports and costs must be equal in each core, and "
    "only the operands that a port serves may differ. Items with a core in common are merged.",
    (Form('"0, 1"', "cores 0 and 1"), Form("[0, 1]", "the same as a list")),
)

PLACES: Final = Forms(
    "Coordinates",
    "The column and row of each core, by the number of the core.",
    (Form("0: [1, 0]", "core 0 is in the second column of the first row"),),
)

EQUAL_CORES: Final = Forms(
    "Copies",
    "How many equal cores a core stands for, itself included. The copies have the numbers that "
    "follow the largest one of `cores`, and the connections and shared memories of the core; no "
    "link connects them to each other unless they are in a `mesh`.",
    (Form("0: 4", "core 0 and three more like it"),),
)


class ConnectionFields(FileModel, frozen=True, title="Connection"):
    """There is at most one link from one core to another; the number of buses is not limited."""

    at = (CONNECTIONS, ITEM)
    origin = Origin.STREAM

    type: Annotated[ConnectionType, Written(example="link")] = ConnectionType.LINK
    """`link`: a channel in each direction between any two of its cores, each with the full
    bandwidth. `bus`: one channel shared by all of its cores, with one transfer at a time. `mesh`
    (*nestmap*): links between neighbors, with the cores in rows of `columns`."""
    cores: Annotated[CoreNumbers, Written(example="[0, 1]")]
    """The cores it connects; of [copies](#copies) only the number of their core, which may be
    alone."""
    bandwidth: Annotated[Bandwidth, Written(_BANDWIDTH, "64")]
    """Bits per cycle; an `unlimited` connection transfers everything at once."""
    unit_energy_cost: Annotated[
        Energy | None, Written(example="1.5", otherwise="`unit_energy_cost` of the accelerator")
    ] = None
    """Energy of each cycle of a transfer."""
    energy_per_bit: Annotated[Energy, Written(example="0.7", origin=Origin.NESTMAP)] = 0.0
    """Additional energy of each transferred bit."""
    hub: Annotated[
        Number | None,
        Written(
            "one of its cores",
            "0",
            otherwise="transfers run between any two of its cores",
            origin=Origin.NESTMAP,
        ),
    ] = None
    """For a bus: the core at which every transfer starts or ends, such as a single-ported
    memory."""
    columns: Annotated[
        Annotated[Whole, Field(ge=1)] | None,
        Written(
            "a whole number, at least 1",
            "2",
            otherwise="the connection is no mesh",
            origin=Origin.NESTMAP,
        ),
    ] = None
    """For a mesh, which must have it: the number of cores in a row; the last row may be shorter."""


class SeveralCoresFields(FileModel, frozen=True):
    """What descriptions of both forms have."""

    origin = Origin.STREAM

    name: Annotated[Text, Written("the name of the accelerator", "quad")]
    """The name of the accelerator in reports."""
    cores: Annotated[Mapping[Number, CoreEntry], Written(SEVERAL), ENTRIES]
    """The [cores](#cores) by number."""
    unit_energy_cost: Annotated[Energy, Written(example="2.5")] = 0.0
    """Energy of each cycle of a transfer, for connections that do not state it."""
    core_memory_sharing: Annotated[
        tuple[CoreNumbers, ...], Written(_SHARED, '["0, 1"]'), SHARED
    ] = ()
    """The cores that [share memory](#shared-memories)."""
    core_coordinates: Annotated[
        Mapping[
            Number,
            Annotated[
                tuple[Annotated[int, Field(strict=True)], Annotated[int, Field(strict=True)]],
                Written("column and row of a core, such as [0, 1]"),
            ],
        ],
        Written(_COORDINATES, "{0: [0, 0], 1: [1, 0]}"),
        PLACES,
    ] = {}
    """The [coordinates](#coordinates) of cores on the chip, for figures only."""


class MulticoreFields(SeveralCoresFields, frozen=True, title="Root of several cores"):
    """Cores and the connections between them.

    Every core must have a path to the off-chip core and back.
    """

    core_connectivity: Annotated[tuple[ConnectionFields, ...], Written("a list of links and buses")]
    """The connections between cores: [links and buses](#connection)."""
    offchip_core_id: Annotated[Number, Written(CORE_NUMBER, "2")]
    """The off-chip core, which only stores; constants come from it and results go to it."""
    copies: Annotated[
        Mapping[
            Number,
            Annotated[
                int,
                Field(strict=True, ge=1, le=MOST_COPIES),
                Written(f"the number of equal cores, 1 to {MOST_COPIES}"),
            ],
        ],
        Written(_COPIES, "{0: 4}", origin=Origin.NESTMAP),
        EQUAL_CORES,
    ] = {}
    """How many equal cores a core [stands for](#copies), by number."""
    bandwidth: Annotated[
        object, ignored("{2.dram.rw_port_1: {ceiling: 64, contiguous: 64, burst: 32}}")
    ] = None
    """Measured rates of ports."""
    technology_node: Annotated[object, ignored("n3")] = None
    """The cores state their costs."""
    memory_aliases: Annotated[object, ignored("[[0.vmem, 1.vmem]]")] = None
    """Memories that are views of one; areas here have each core's own."""
    kernel_library: Annotated[object, ignored("./kernels.yaml")] = None
    """For Stream's compiler."""
    reconfiguration: Annotated[object, ignored("{cycles: 100}")] = None
    """For Stream's compiler."""


class Multicore2024Fields(SeveralCoresFields, frozen=True, title="Root of several cores, 2024"):
    """The format of Stream's files in 2024.

    With `offchip_core`, connections are pairs of cores, all with one `bandwidth`. Pairs refer to
    the off-chip core by its number.
    """

    offchip_core: Annotated[
        CoreEntry, Written("the file of a core, or the core itself", "offchip.yaml")
    ]
    """The off-chip core; its number follows those of `cores`."""
    core_connectivity: Annotated[tuple[CoreNumbers, ...], Written(_PAIRS), PAIRS]
    """The [pairs of cores](#pairs-of-cores) that links join."""
    bandwidth: Annotated[Bandwidth, Written(_BANDWIDTH, "64")]
    """Bandwidth of each link."""
