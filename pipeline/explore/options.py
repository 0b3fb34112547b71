"""The options of a search: name, type, default and help of each, for Python and command line.

Nothing heavy is imported here, so that ``nestmap explore --help`` is fast.
"""

from dataclasses import dataclass
from enum import StrEnum
from types import EllipsisType
from typing import Annotated, ClassVar, Literal, final

from nestmap.pipeline.util.option import Option

ObjectiveName = Literal["latency", "energy", "edp"]
SearchName = Literal["exact", "loma", "salsa"]
EveryName = Literal["all"]
MappingTypeName = Literal["uneven", "even"]
RankName = Literal["utilization", "bound"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The commonly changed options of a search; None leaves an option unchanged.

    An enumerated option is given by name or as a member of its enumeration
    (:class:`~nestmap.model.Objective`, :class:`~nestmap.model.MappingType`,
    :class:`~nestmap.pipeline.stages.mapping.temporal_search.Rank`). For ``lpf_limit``, ``...``
    leaves the limit unchanged, and None means that LOMA permutes all prime factors; a limit without
    a ``search`` chooses LOMA, unless the plan has SALSA.
    """

    GROUP: ClassVar[str] = "Search"

    objective: Annotated[
        ObjectiveName | StrEnum | None,
        Option(help="Objective to minimize for each layer.", default="latency"),
    ] = None
    search: Annotated[
        SearchName | None,
        Option(
            help="How to search for temporal mappings: the optimum of all orders and allocations, "
            "proven (exact, the default); every order of at most --lpf-limit loop factors, as in "
            "ZigZag (loma); or annealing of the order of all prime factors (salsa).",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        Option(
            help="Seconds after which the exact search of a layer ends, compiling not counted; the "
            "result then states its gap, and depends on the speed of the machine. Default: no "
            "limit of time, but one of work, which is the same on every machine.",
            metavar="SECONDS",
            minimum=0,
        ),
    ] = None
    lpf_limit: Annotated[
        int | EllipsisType | None,
        Option(
            help="Split the loops of a layer into at most N factors (default: 6) and try every "
            "order of them: --search loma, unless another search is given.",
            metavar="N",
            minimum=1,
        ),
    ] = ...
    mapping_type: Annotated[
        MappingTypeName | StrEnum | None,
        Option(
            help="Whether operands that share a memory may hold different loops there (uneven) "
            "or not (even).",
            default="uneven",
        ),
    ] = None
    spatial_mappings: Annotated[
        int | EveryName | None,
        Option(
            help="Try the N most promising spatial mappings of each layer, where the mapping "
            "leaves array dimensions open, or all, in the order of their lower bounds. Default: "
            "all with --search exact, else 3.",
            metavar="N|all",
            minimum=1,
        ),
    ] = None
    mixed: Annotated[
        bool | None, Option(help="Let several loop dimensions share an array dimension.")
    ] = None
    rank: Annotated[
        RankName | StrEnum | None,
        Option(
            help="How to choose spatial mappings: by the bound of their cost, with the simple "
            "and the bundled ones always among them (bound), or by the share of the array in use, "
            "as in ZigZag (utilization). Default: utilization with --search loma or salsa and "
            "with --lpf-limit alone, else bound.",
        ),
    ] = None
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
    ] = None
    keep_on_chip: Annotated[
        bool | None,
        Option(help="Keep data between layers in the lowest memory that has room for it."),
    ] = None
    prune: Annotated[
        bool | None,
        Option(
            help="Skip spatial mappings that cannot beat the best mapping found so far: the same "
            "result in less time."
        ),
    ] = None
    count_vector: Annotated[
        bool | None,
        Option(
            help="Include vector operators (pooling, activations, normalizations, ...) in the "
            "totals."
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(help="Random seed for --search salsa.", metavar="N", minimum=0, default=0),
    ] = None
    workers: Annotated[
        int | None,
        Option(
            help="Worker threads; results do not depend on their number. Default: one per core.",
            metavar="N",
            minimum=1,
        ),
    ] = None
