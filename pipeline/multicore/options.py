"""The options of a search on several cores: name, type, default and help of each.

Nothing heavy is imported here, so that ``nestmap stream --help`` is fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, final

from nestmap.pipeline.explore.options import ObjectiveName
from nestmap.pipeline.util.option import Option

RuleName = Literal["latency", "memory", "critical"]
EngineName = Literal["genetic", "constraint", "both"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationOptions:
    """How nodes are allocated to cores and scheduled.

    An enumerated option is given by name or as a member of its enumeration.
    """

    GROUP: ClassVar[str] = "Allocation to several cores"

    rule: Annotated[
        RuleName | str,
        Option(
            help="Which of the ready nodes is scheduled next: the one whose inputs arrive first "
            "(latency), the one of the deepest layer (memory), or, of those that can start first, "
            "the one with the longest remaining path (critical)."
        ),
    ] = "latency"
    prefetch: Annotated[
        Sequence[str],
        Option(
            help="Send the constants of this operand, such as W, to their cores before anything "
            "runs. Give one for each operand.",
            metavar="OPERAND",
        ),
    ] = ()
    engine: Annotated[
        EngineName | str,
        Option(
            help="How to search for allocations: a genetic algorithm (genetic), constraint "
            "programming with a lower bound on the latency (constraint), or one after the other "
            "(both)."
        ),
    ] = "genetic"
    individuals: Annotated[
        int, Option(help="Allocations in each generation.", metavar="N", minimum=1)
    ] = 32
    generations: Annotated[
        int, Option(help="Generations after the first one.", metavar="N", minimum=0)
    ] = 100
    patience: Annotated[
        int | None,
        Option(
            help="Stop the search after N generations without a better front.",
            metavar="N",
            minimum=1,
        ),
    ] = None
    seed: Annotated[int, Option(help="Random seed.", metavar="N", minimum=0)] = 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """The commonly changed options of a search on several cores.

    An enumerated option is given by name or as a member of its enumeration.
    """

    GROUP: ClassVar[str] = "Search"

    objectives: Annotated[
        Sequence[str],
        Option(
            help="Objective to minimize; give several for a Pareto front. The reported schedule is "
            "the best one for the first objective.  [default: latency and energy]",
            flags="--objective",
            metavar="[latency|energy|edp|memory]",
        ),
    ] = ("latency", "energy")
    allocation: AllocationOptions = AllocationOptions()
    lpf_limit: Annotated[
        int | None,
        Option(
            help="Map nodes by LOMA: split the loops of a node into at most N factors and try "
            "every order of them. Default: the exact search.",
            metavar="N",
            minimum=1,
        ),
    ] = None
    core_objective: Annotated[
        ObjectiveName | str | None,
        Option(
            help="Objective to minimize for each node on a core. Default: that of the schedule, "
            "or edp if there are several."
        ),
    ] = None
