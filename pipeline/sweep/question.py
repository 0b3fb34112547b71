"""What a sweep asks, as a store keeps it: all that determines its designs and their figures."""

from __future__ import annotations

from importlib.metadata import version
from typing import NamedTuple

from pydantic import ValidationError

from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.model import Frozen, MappingConstraints, StoreError, Workload
from nestmap.model.design_space.space import Description, DesignSpace
from nestmap.model.units import Count
from nestmap.pipeline.explore.keys import key_of
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.yaml.design_space import LocatedSpace
from nestmap.pipeline.sweep.checked_space import CheckedSpace, find_fields
from nestmap.pipeline.sweep.choice import Choice, choose_designs
from nestmap.pipeline.sweep.field_path import copied
from nestmap.pipeline.sweep.options import ChoiceOptions, Strategy
from nestmap.pipeline.util.provenance import command_line
from nestmap.search.version import VERSION as SEARCH_VERSION
from nestmap.store import SweepInfo, SweepRecord

_TAG_DIGITS = 12


class SweepJob(NamedTuple):
    """What a sweep explores: the space, the designs chosen and how, how to search each."""

    checked: CheckedSpace
    choice: Choice
    options: ChoiceOptions
    plan: SearchPlan


class SweepQuestion(Frozen, frozen=True):
    """What a sweep asks, with its inputs read.

    ``base``, ``networks`` and ``constraints`` are those that the space names; ``plan`` searches
    each design. The designs are chosen by ``strategy``, ``designs`` of them, unless it is all, as
    ``design_seed`` determines.
    """

    space: DesignSpace
    base: Description
    networks: tuple[Workload, ...]
    constraints: MappingConstraints
    static_energy: bool
    plan: SearchPlan
    strategy: Strategy
    designs: Count | None
    design_seed: Count

    @classmethod
    def of(cls, job: SweepJob) -> SweepQuestion:
        """The question of a job."""
        checked, options = job.checked, job.options
        return cls(
            space=checked.space,
            base=checked.base,
            networks=checked.networks,
            constraints=checked.constraints,
            static_energy=checked.static_energy,
            plan=job.plan,
            strategy=Strategy(options.strategy),
            designs=options.designs,
            design_seed=options.design_seed,
        )

    @classmethod
    def read(cls, sweep: SweepRecord) -> SweepQuestion:
        """The question of a recorded sweep.

        Raises:
            StoreError: where this version of nestmap cannot read it.
        """
        try:
            return cls.model_validate_json(sweep.info.question)
        except ValidationError:
            raise StoreError(
                f"sweep {sweep.info.name}: found one of an incompatible version of nestmap; "
                "expected one of this version: start it again from its file"
            ) from None

    @property
    def checked(self) -> CheckedSpace:
        """The space with its inputs, as it was checked when the sweep was started."""
        located = LocatedSpace(self.space, {})
        fields = find_fields(located, copied(self.base.values))
        return CheckedSpace(
            located, self.base, fields, self.networks, self.constraints, self.static_energy
        )

    @property
    def job(self) -> SweepJob:
        """What the sweep explores.

        Raises:
            InputError: where Optuna is missing.
        """
        checked = self.checked
        options = ChoiceOptions(
            strategy=self.strategy, designs=self.designs, design_seed=self.design_seed
        )
        choice = choose_designs(checked, self.strategy, self.designs, self.design_seed)
        return SweepJob(checked, choice, options, self.plan)


def sweep_info(job: SweepJob) -> SweepInfo:
    """The information that is recorded when a sweep starts."""
    question, space = SweepQuestion.of(job), job.checked.space
    methods = tuple(_method(question, network) for network in question.networks)
    return SweepInfo(
        key=_key(question, methods),
        name=space.name,
        command=command_line(),
        version=version("nestmap"),
        objective=job.plan.objective,
        objectives=tuple(map(str, space.objectives)),
        aggregate=space.aggregate,
        methods=methods,
        question=question.model_dump_json(),
        most=job.choice.most,
    )


def key_tag(key: str) -> str:
    """The beginning of a sweep's key, which is a tag of its runs."""
    return key[:_TAG_DIGITS]


def _method(question: SweepQuestion, network: Workload) -> str:
    """Identifies what a network costs on an accelerator: equal methods, equal figures."""
    plan = question.plan
    return key_of(
        [
            "network",
            network.content_hash,
            question.constraints.content_hash,
            type(plan.search).__name__,
            plan.model_dump_json(exclude={"search": {"workers"}}),
            COST_MODEL_VERSION,
            SEARCH_VERSION,
        ]
    )


def _key(question: SweepQuestion, methods: tuple[str, ...]) -> str:
    """Identifies the designs of a sweep, their order, and their figures."""
    is_sampled = question.strategy in (Strategy.NSGA2, Strategy.TPE)
    return key_of(
        [
            "sweep",
            question.space.content_hash,
            question.base.content_hash,
            list(methods),
            str(question.static_energy),
            question.strategy.value,
            str(question.designs),
            question.design_seed,
            version("optuna") if is_sampled else "",
        ]
    )
