"""The options of a search: name, type, default and help of each, for Python and command line.

Nothing heavy is imported here, so that ``nestmap explore --help`` is fast.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from nestmap.pipeline.util.option import Option

if TYPE_CHECKING:
    from nestmap.model import CostLimit, MappingType, Objective
    from nestmap.pipeline.stages.mapping.temporal_search import Rank
else:  # which are slow to import, and no options of the command line
    CostLimit = MappingType = Objective = Rank = StrEnum

ObjectiveName = Literal["latency", "energy", "edp"]
SearchName = Literal["exact", "loma", "salsa"]
EveryName = Literal["all"]
MappingTypeName = Literal["uneven", "even"]
RankName = Literal["utilization", "bound"]


Reference = Annotated[
    bool | None,
    Option(
        help="Count as ZigZag and Stream do: tiles are averages, and loads may overlap beyond the "
        "width of a port; layers on several cores are padded to a multiple of their tiles, and "
        "bits after reshapes count twice. Default: count what an execution moves."
    ),
]
"""Whether costs are those of the reference."""


class DesignOptions(TypedDict, total=False):
    """The options that searches and sweeps over designs have; see :class:`SearchOptions`."""

    search: Annotated[
        SearchName | None,
        Option(
            help="How to search for temporal mappings: the optimum of all orders and allocations, "
            "proven (exact, the default on one core); every order of at most --lpf-limit loop "
            "factors, as in ZigZag (loma); or annealing of the order of all prime factors (salsa)."
        ),
    ]
    time_limit: Annotated[
        float | None,
        Option(
            help="Seconds after which the exact search of a layer ends, compiling not counted; the "
            "result then states its gap, and depends on the speed of the machine. Default: no "
            "limit of time, but one of work, which is the same on every machine.",
            metavar="SECONDS",
            minimum=0,
        ),
    ]
    gap: Annotated[
        float | None,
        Option(
            help="End the exact search of a layer as soon as the optimum is proven to be at most "
            "PERCENT lower than the mapping found. Default: 0.",
            metavar="PERCENT",
            minimum=0,
            maximum=99,
        ),
    ]
    lpf_limit: Annotated[
        int | None,
        Option(
            help="Split the loops of a layer into at most N factors (default: 6) and try every "
            "order of them: --search loma, unless another search is given.",
            metavar="N",
            minimum=1,
        ),
    ]
    reference: Reference
    at_most: Annotated[
        str | CostLimit | None,
        Option(
            help="Minimize the energy of the network under a limit on its latency, or the other "
            "way round: a factor over the least (latency=1.1x), cycles (latency=250000) or pJ "
            "(energy=2e9). The mappings of all layers are chosen together, from their fronts.",
            metavar="LIMIT",
        ),
    ]
    keep_on_chip: Annotated[
        bool | None,
        Option(
            help="Keep tensors between layers on chip, each in the memory where all layers "
            "together cost least."
        ),
    ]
    fuse: Annotated[
        bool | None,
        Option(
            help="Run layers together, tile by tile, with the tensors between them on chip, where "
            "all layers together cost least; includes --keep-on-chip."
        ),
    ]
    fuse_depth: Annotated[
        int | None,
        Option(
            help="Run at most N layers together (--fuse). Default: 8. More takes longer, and is "
            "never worse.",
            metavar="N",
            minimum=1,
        ),
    ]
    tiles: Annotated[
        str | None,
        Option(
            help="Cut what layers compute together into tiles of these sizes only (--fuse), such "
            "as 'OY 4 x OX 60'; dimensions that are not named are not cut. Default: the best of "
            "many sizes.",
            metavar="SIZES",
        ),
    ]
    spatial_mappings: Annotated[
        int | EveryName | None,
        Option(
            help="Try the N most promising spatial mappings of each layer, where the mapping "
            "leaves array dimensions open, or all, in the order of their lower bounds. Default: "
            "all with --search exact, else 3.",
            metavar="N|all",
            minimum=1,
        ),
    ]


SweepPlace = Annotated[
    str | None,
    Option(
        help="Explore designs elsewhere than on threads of this process: in N processes of this "
        "machine (local:N), or on the workers of a Dask cluster, whose scheduler is "
        "tcp://HOST:PORT or has written FILE.json. Results do not depend on it.",
        metavar="PLACE",
    ),
]
"""Where a sweep explores designs."""


class DesignSearchOptions(DesignOptions, total=False):
    """The options of the search of each design."""

    objective: Annotated[
        ObjectiveName | Objective | None,
        Option(
            help="Objective to minimize for each layer, or for the schedule of each network on "
            "several cores. Default: each that the objectives of the space need, in turn, and "
            "EDP where both energy and latency count."
        ),
    ]
    workers: Annotated[
        int | None,
        Option(
            help="Designs that are explored at a time. Results do not depend on it. Default: one "
            "per core.",
            metavar="N",
            minimum=1,
        ),
    ]


class SweepSearchOptions(DesignSearchOptions, total=False):
    """The options of a sweep's searches, and where they run: keywords of ``nestmap.sweep``."""

    on: SweepPlace


class SearchOptions(DesignOptions, total=False):
    """The commonly changed options of a search: keywords of ``nestmap.explore``.

    An option that is not given, or None, stays as it is. Only for ``lpf_limit`` None has a meaning:
    LOMA permutes all prime factors; a limit without a ``search`` chooses LOMA, unless the plan has
    SALSA. An enumerated option is given by name or as a member of its enumeration
    (:class:`~nestmap.model.Objective`, :class:`~nestmap.model.MappingType`,
    :class:`~nestmap.pipeline.stages.mapping.temporal_search.Rank`).
    """

    objective: Annotated[
        ObjectiveName | Objective | None,
        Option(
            help="Objective to minimize for each layer. Default: latency; with --at-most, the "
            "other of energy and latency."
        ),
    ]
    workers: Annotated[
        int | None,
        Option(
            help="Worker threads; results do not depend on their number. Default: one per core.",
            metavar="N",
            minimum=1,
        ),
    ]
    mapping_type: Annotated[
        MappingTypeName | MappingType | None,
        Option(
            help="Whether operands that share a memory may hold different loops there (uneven) "
            "or not (even).",
            default="uneven",
        ),
    ]
    mixed: Annotated[
        bool | None,
        Option(
            help="Let several loop dimensions share an array dimension. Without --spatial-mappings "
            "the exact search does so anyway."
        ),
    ]
    rank: Annotated[
        RankName | Rank | None,
        Option(
            help="How to choose spatial mappings: by the bound of their cost, with the simple "
            "and the bundled ones always among them (bound), or by the share of the array in use, "
            "as in ZigZag (utilization). Default: utilization with --search loma or salsa and "
            "with --lpf-limit alone, else bound."
        ),
    ]
    pad: Annotated[
        float | None,
        Option(
            help="Also try layers with loops enlarged by up to PERCENT, to sizes that factor "
            "better or fit the array, such as 200 for 197. Their costs are those of the padded "
            "work.",
            metavar="PERCENT",
            minimum=0,
            maximum=100,
        ),
    ]
    prune: Annotated[
        bool | None,
        Option(
            help="Skip spatial mappings that cannot beat the best mapping found so far: the same "
            "result in less time."
        ),
    ]
    count_vector: Annotated[
        bool | None,
        Option(
            help="Include vector operators (pooling, activations, normalizations, ...) in the "
            "totals."
        ),
    ]
    seed: Annotated[
        int | None,
        Option(help="Random seed for --search salsa. Default: 0.", metavar="N", minimum=0),
    ]
