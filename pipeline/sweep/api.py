"""The facade: explores the designs of a space in one call, goes on, and reads what is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from nestmap.model import Recording
from nestmap.pipeline.explore.choices import check_names, member_by_name
from nestmap.pipeline.explore.options import SweepSearchOptions
from nestmap.pipeline.sweep.choice.choice import choose_designs
from nestmap.pipeline.sweep.methods.sweep_method import SweepPlan, sweep_method
from nestmap.pipeline.sweep.options import ChoiceOptions, RunsName, Strategy, StrategyName
from nestmap.pipeline.sweep.record.question import SweepJob, SweepQuestion
from nestmap.pipeline.sweep.result.result import SweepResult
from nestmap.pipeline.sweep.run import Execution, SweepProgress, run_sweep
from nestmap.pipeline.sweep.space.checked_space import GivenSpace, located_space
from nestmap.pipeline.util.option import explain_options

if TYPE_CHECKING:
    from nestmap.store import Store


@explain_options(SweepSearchOptions.__annotations__)
def sweep(  # noqa: PLR0913 (the single entry point; all but the space have defaults)
    space: GivenSpace,
    *,
    strategy: Strategy | StrategyName = "grid",
    designs: int | None = None,
    design_seed: int = 0,
    plan: SweepPlan | None = None,
    static_energy: bool = False,
    store: Store | Path | str | None = None,
    runs: RunsName = "front",
    recording: Recording | None = None,
    progress: SweepProgress | None = None,
    **options: Unpack[SweepSearchOptions],
) -> SweepResult:
    """Explores networks on the designs of a space, and finds the Pareto front.

    Everything is read and checked before the first design is explored. Results depend neither on
    the number of workers nor on the store, unless a time limit ends a search.

    Args:
        space: a design space, a YAML file, or the fields of one as a dictionary.
        strategy: all designs (``grid``), or ``designs`` of them: in random order (``random``), or
            sampled by what is known of those before, by Optuna's NSGA-II (``nsga2``) or TPE
            (``tpe``), which ``pip install 'nestmap[optuna]'`` installs.
        designs: number of designs to explore (default: all).
        design_seed: determines which ones.
        plan: how to search the mappings of each design; if the base has several cores, a
            :class:`~nestmap.pipeline.multicore.plan.StreamPlan`: how to schedule the networks.
        static_energy: whether energies include the leakage of memories and array; several cores say
            it in their descriptions.
        store: where the sweep and its designs are recorded: a store, or a DuckDB file (created if
            missing). A sweep that was interrupted goes on when it is started again, and designs
            whose networks another sweep has explored in the same way are not explored again.
        runs: of which designs runs with their layers and mappings are recorded, with the tag
            ``sweep:NAME``: of those on the front, at the end (``front``), of ``all``, one after the
            other, or of ``none``.
        recording: which evaluations of these runs are recorded; by default the front of each
            search.
        progress: receives progress updates.
        options: override the plan; see :class:`~nestmap.pipeline.explore.options.SearchOptions`.
            ``objective`` is what the mapping of each layer, or the schedule of each network,
            minimizes; by default that of the plan, otherwise what each objective of the space needs
            in turn, and the energy-delay product where both energy and latency count: each gives a
            point. With several cores
            the other options are for the mappings on a core. ``workers`` are designs that are
            explored at a time. ``on="local:N"`` explores designs in N processes instead of
            threads; a script that asks for it has its code under ``if __name__ == "__main__":``,
            because each process imports it. With the address of a Dask scheduler
            (``tcp://HOST:PORT``) or its scheduler file they are explored on the workers of a
            cluster (``pip install 'nestmap[cluster]'``). Designs that a ``time_limit`` has cut
            short are explored again where the sweep is started again.

    Raises:
        InputError: where an argument or the space is invalid, or no design meets the constraints.
        StoreError: where the store cannot be written.
    """
    check_names(options, SweepSearchOptions.__annotations__)
    located = located_space(space)
    chosen = member_by_name(Strategy, strategy, "strategy")
    method = sweep_method(located, options, plan, static_energy=static_energy, store=store)
    drawn = choose_designs(method.checked, chosen, designs, design_seed)
    asked = ChoiceOptions(strategy=chosen, designs=designs, design_seed=design_seed)
    execution = Execution(
        workers=options.get("workers"),
        on=options.get("on"),
        store=store,
        runs=runs,
        recording=recording,
    )
    return run_sweep(SweepJob(method, drawn, asked), execution, progress)


def resume_sweep(
    sweep: str,
    store: Store | Path | str,
    *,
    workers: int | None = None,
    on: str | None = None,
    runs: RunsName = "front",
    progress: SweepProgress | None = None,
) -> SweepResult:
    """Goes on with a recorded sweep; of a complete one, records the runs that are missing.

    It explores what it was started for, whatever has become of the files. The other arguments are
    those of :func:`sweep`.

    Args:
        sweep: its name, the beginning of its key, or ``last``.
        store: where it is recorded.
        workers: designs that are explored at a time (``None``: one per core).
        on: where designs are explored, unless on threads of this process.
        runs: of which designs runs are recorded.
        progress: receives progress updates.

    Raises:
        InputError: where an argument is invalid.
        StoreError: where there is no such sweep, or the store cannot be written.
    """
    from nestmap.store import Store  # noqa: PLC0415 (takes long to import)

    with Store.borrow(store) as target:
        job = SweepQuestion.read(target.find_sweep(sweep)).job
        execution = Execution(workers=workers, on=on, store=target, runs=runs)
        return run_sweep(job, execution, progress)


def recorded_sweep(sweep: str, store: Store | Path | str) -> SweepResult:
    """A sweep as far as it is recorded.

    Args:
        sweep: its name, the beginning of its key, or ``last``.
        store: where it is recorded.

    Raises:
        StoreError: where there is no such sweep, or it has no design yet.
    """
    from nestmap.pipeline.sweep.record.recorded_summary import read_result  # noqa: PLC0415 (imports the store)

    return read_result(sweep, store)
