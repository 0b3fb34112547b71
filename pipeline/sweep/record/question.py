"""What a sweep asks, as a store keeps it: all that determines its designs and their figures."""

from __future__ import annotations

from importlib.metadata import version
from typing import NamedTuple

from pydantic import ValidationError

from nestmap.model import Frozen, MappingConstraints, Objective, StoreError, Workload
from nestmap.model.design_space.space import Description, DesignSpace
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.model.units import Count
from nestmap.pipeline.explore.keys import key_of
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.yaml.design_space import LocatedSpace
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.sweep.choice.choice import Choice, choose_designs
from nestmap.pipeline.sweep.methods.method import SweepMethod
from nestmap.pipeline.sweep.methods.one_core import OneCore
from nestmap.pipeline.sweep.methods.several_cores import SeveralCores
from nestmap.pipeline.sweep.options import ChoiceOptions, Strategy
from nestmap.pipeline.sweep.space.checked_cores import CheckedCores
from nestmap.pipeline.sweep.space.checked_space import CheckedSpace
from nestmap.pipeline.sweep.space.design_settings import design_settings
from nestmap.pipeline.util.provenance import command_line
from nestmap.store import SweepInfo, SweepRecord

_TAG_DIGITS = 12


class SweepJob(NamedTuple):
    """What a sweep explores: the designs chosen and how, how each is explored."""

    method: SweepMethod
    choice: Choice
    options: ChoiceOptions


class SweepQuestion(Frozen, frozen=True):
    """What a sweep asks, with its inputs read.

    ``base`` and ``networks`` are those that the space names; ``plan`` explores each design, for
    each objective of ``mapped_for``. With a plan for a single core, ``constraints`` are those of
    the mapping that the space names, otherwise ``allocations``. The designs are chosen by
    ``strategy``, ``designs`` of them, unless it is all, as ``design_seed`` determines.
    """

    space: DesignSpace
    base: Description
    networks: tuple[Workload, ...]
    constraints: MappingConstraints = MappingConstraints()
    allocations: CoreMapping = CoreMapping()
    static_energy: bool
    plan: SearchPlan | StreamPlan
    mapped_for: tuple[Objective, ...]
    strategy: Strategy
    designs: Count | None
    design_seed: Count

    @classmethod
    def of(cls, job: SweepJob) -> SweepQuestion:
        """The question of a job."""
        checked, options = job.method.checked, job.options
        return cls(
            space=checked.settings.space,
            base=checked.settings.base,
            networks=checked.networks,
            constraints=job.method.constraints,
            allocations=job.method.allocations,
            static_energy=job.method.static_energy,
            plan=job.method.plan,
            mapped_for=job.method.mapped_for,
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
    def method(self) -> SweepMethod:
        """How designs are explored, with what was read and checked when the sweep was started."""
        settings = design_settings(LocatedSpace(self.space, {}), self.base)
        if isinstance(self.plan, StreamPlan):
            cores = CheckedCores(settings, self.networks, self.allocations)
            return SeveralCores(cores, self.plan, self.mapped_for)
        checked = CheckedSpace(
            settings, self.networks, self.constraints, self.static_energy, self.plan.counting
        )
        return OneCore(checked, self.plan, self.mapped_for)

    @property
    def job(self) -> SweepJob:
        """What the sweep explores.

        Raises:
            InputError: where Optuna is missing.
        """
        method = self.method
        options = ChoiceOptions(
            strategy=self.strategy, designs=self.designs, design_seed=self.design_seed
        )
        choice = choose_designs(method.checked, self.strategy, self.designs, self.design_seed)
        return SweepJob(method, choice, options)


def sweep_info(job: SweepJob) -> SweepInfo:
    """The information that is recorded when a sweep starts."""
    question, space = SweepQuestion.of(job), job.method.checked.settings.space
    methods = tuple(
        method.key(network)
        for method in map(job.method.mapping_for, job.method.mapped_for)
        for network in question.networks
    )
    return SweepInfo(
        key=_key(question, methods),
        name=space.name,
        command=command_line(),
        version=version("nestmap"),
        mapped_for=job.method.mapped_for,
        objectives=tuple(map(str, space.objectives)),
        aggregate=space.aggregate,
        methods=methods,
        question=question.model_dump_json(),
        most=job.choice.most,
    )


def key_tag(key: str) -> str:
    """The beginning of a sweep's key, which is a tag of its runs."""
    return key[:_TAG_DIGITS]


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
