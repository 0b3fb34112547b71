"""The progress bar: what it counts, and that it draws only on a terminal."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO

import pytest
from rich.console import Console

from nestmap.costmodel.kernel import jit
from nestmap.model import EvaluationBatch, NetworkProblem, Objective, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.cli import progress_line
from nestmap.pipeline.cli.progress import ExplorationBar, ExplorationTally
from nestmap.pipeline.cli.progress_line import ProgressLine, WorkClock
from nestmap.pipeline.cli.stream import StreamBar
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.size import ExplorationSize, LayerSize, exploration_size
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.multicore.api import stream
from nestmap.pipeline.stages import ExactStage
from nestmap.search.temporal.exact.walk import WalkState
from tests.loma import LOMA_PLAN
from tests.pipeline.cli.inputs import Inputs
from tests.pipeline.multicore import streams
from tests.pipeline.networks import FIRST, MACHINE, SECOND


@pytest.fixture
def network(inputs: Inputs) -> NetworkProblem:
    """The small network on the small machine."""
    return NetworkProblem(
        workload=read_workload(inputs.network),
        accelerator=read_accelerator(inputs.machine),
        constraints=read_mapping(inputs.mapping, for_accelerator=None),
    )


@dataclass
class Clock:
    """A clock that a test sets."""

    now: float = 100.0
    compiling: float = 7.0

    def compile(self, seconds: float) -> None:
        """Compiling takes so long."""
        self.now += seconds
        self.compiling += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the progress bar."""
    made = Clock()
    monkeypatch.setattr(progress_line, "perf_counter", lambda: made.now)
    monkeypatch.setattr(progress_line, "seconds_compiling", lambda: made.compiling)
    return made


@pytest.fixture
def compile_one(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Calls a kernel that no machine has compiled."""

    def is_compiled(_kernel: object) -> bool:
        return False

    def half(number: float) -> float:
        return number / 2

    def call() -> None:
        monkeypatch.setattr(jit, "is_compiled", is_compiled)
        assert jit.kernel(half)(3.0) == 1.5

    return call


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the line shows; a terminal sees only some of them, ten in a second."""
    shown = list[str]()
    update = ProgressLine.update

    def note(
        line: ProgressLine,
        text: str | None = None,
        *,
        description: str | None = None,
        completed: int | None = None,
        total: int | None = None,
    ) -> None:
        shown.append(f"{description}: {text}")
        update(line, text, description=description, completed=completed, total=total)

    monkeypatch.setattr(ProgressLine, "update", note)
    return shown


def drawn(network: NetworkProblem, *, terminal: bool, plan: SearchPlan = LOMA_PLAN) -> str:
    """All that an exploration writes to a terminal of 100 columns, or to a file."""
    file = StringIO()
    size = exploration_size(network, plan)
    console = Console(file=file, force_terminal=terminal, width=100)
    with ExplorationBar(size, console) as bar:
        explore_network(network, plan, progress=bar)
    return file.getvalue()


def test_a_terminal_sees_layers_and_mappings(network: NetworkProblem) -> None:
    text = drawn(network, terminal=True)
    assert "/2 layers, " in text
    assert " of 32 mappings" in text
    assert "Evaluated 5 mappings, " in text


def test_a_file_gets_one_line(network: NetworkProblem) -> None:
    text = drawn(network, terminal=False)
    assert text.startswith("Evaluated 5 mappings, ")
    assert text.count("\n") == 1


def test_after_an_error_nothing_is_claimed() -> None:
    file = StringIO()
    size = ExplorationSize(())
    with pytest.raises(KeyboardInterrupt), ExplorationBar(size, Console(file=file)):
        raise KeyboardInterrupt
    assert file.getvalue() == ""


REPEATED = NetworkProblem(
    workload=Workload.of(
        FIRST,
        copy_with(FIRST, {"name": "again"}),
        SECOND,
        copy_with(SECOND, {"name": "and again"}),
        name="net",
    ),
    accelerator=MACHINE,
)


class Batches:
    """Notes all batches of an exploration."""

    def __init__(self) -> None:
        self.found: list[EvaluationBatch] = []

    def start(self, network: NetworkProblem) -> None:
        """Notes nothing."""

    def observe(self, batch: EvaluationBatch) -> None:
        """Notes a batch."""
        self.found.append(batch)

    def recall(self, batch: EvaluationBatch) -> None:
        """Without a store there is nothing to reuse."""
        raise AssertionError


def batches(plan: SearchPlan) -> list[EvaluationBatch]:
    """All batches of the network with repeated layers."""
    seen = Batches()
    explore_network(REPEATED, plan, progress=seen)
    return seen.found


def test_a_repeated_layer_is_no_work() -> None:
    tally = ExplorationTally(exploration_size(REPEATED, LOMA_PLAN))
    assert len(tally.size.layers) == 2
    layers = list[int]()
    for batch in batches(LOMA_PLAN):
        tally.add(batch)
        layers.append(tally.layers)
    assert sorted(set(layers)) == [0, 1]
    assert tally.mappings == tally.size.mappings
    assert tally.left == 0


def test_mappings_that_a_complete_layer_has_pruned_are_done() -> None:
    found = batches(LOMA_PLAN)
    first = next(x for x in found if x.mappings.problem.layer.name == "first")
    second = next(x for x in found if x.mappings.problem.layer.name == "second")
    size = ExplorationSize((LayerSize("first", (500, 400)), LayerSize("second", (1000,))))
    tally = ExplorationTally(size)
    tried = tally.add(first)
    assert tally.left == 1900 - tried
    assert tally.spatial_mappings == 1
    more = tally.add(second)
    assert (tally.layers, tally.spatial_mappings) == (1, 1)
    assert tally.mappings == 900 + more


def test_the_exact_search_counts_layers_and_spatial_mappings(texts: list[str]) -> None:
    plan = SearchPlan(search=ExactStage())
    tally = ExplorationTally(exploration_size(REPEATED, plan))
    for batch in batches(plan):
        tally.add(batch)
    assert tally.left is None
    assert tally.layers == 1
    assert tally.spatial_mappings >= 1
    drawn(REPEATED, terminal=True, plan=plan)
    assert any(x.startswith("first: 0/2 layers, spatial mapping 1, ") for x in texts)
    assert any(x.startswith("second: 1/2 layers, spatial mapping 2, ") for x in texts)
    walked = r"second: 1/2 layers, [\d,]+ spatial mappings left, best [\d,]+ cycles, gap \S+"
    assert any(re.fullmatch(walked + r"(, 0:\d\d left)?", x) for x in texts)


ENERGY, LATENCY, EDP = Objective


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (WalkState(Objective.ENERGY, 0, 64, (2e6, 1), 0.5, 0.0), "best 2.000 uJ, gap 50.0%"),
        (WalkState(Objective.ENERGY, 32, 64, (2e6, 1), 0.5, 0.1), "best 2.000 uJ, gap 50.0%, 0:20"),
        (
            WalkState(Objective.LATENCY, 8, 64, (2, 7e3), 0.0, 0.8),
            "best 7,000 cycles, gap optimal, 0:02",
        ),
        (
            WalkState(Objective.EDP, 1, 64, (2e6, 1e3), 0.1, 0.0),
            "best 2.000 mJ x cycles, gap 10.0%",
        ),
        (WalkState(None, 1, 64, None, None, 0.01), "10:40"),
    ],
)
def test_a_walk_says_what_is_left(
    state: WalkState, shown: str, clock: Clock, texts: list[str]
) -> None:
    with ExplorationBar(ExplorationSize(()), Console(file=StringIO())) as bar:
        bar.start(REPEATED)
        bar.walked(state)
        clock.now += 10
        bar.walked(state)
    ends = f"{shown} left" if state.done and state.work else shown
    assert texts[-1] == f": 0/0 layers, 64 spatial mappings left, {ends}"


def test_rates_and_the_time_left_count_work_only(clock: Clock, texts: list[str]) -> None:
    first, *_, last = (x for x in batches(LOMA_PLAN) if len(x))
    size = ExplorationSize((LayerSize("first", (10 * len(first),)), LayerSize("second", (0,))))
    file = StringIO()
    with ExplorationBar(size, Console(file=file)) as bar:
        clock.now += 7  # reads
        bar.start(REPEATED)
        clock.now += 2
        bar.observe(first)
        clock.now += 50
        bar.recall(first)
        bar.observe(last)
        rate = (len(first) + len(last)) / 2
        clock.now += 1
    known = f"{10 * len(first)} mappings, {len(first) // 2}/s, 0:{9 * 2:02} left"
    assert texts[1] == f"first: 0/2 layers, {len(first)} of {known}"
    text = file.getvalue()
    assert (
        f"Evaluated {len(first) + len(last)} mappings, {int(rate)}/s in 53.0 s. "
        f"{first.statistics.evaluations} were reused from the store.\n"
    ) in text


def test_a_search_that_evaluates_few_mappings_has_no_rate(clock: Clock) -> None:
    first = next(x for x in batches(LOMA_PLAN) if len(x))
    file = StringIO()
    with ExplorationBar(ExplorationSize((LayerSize("first", None),)), Console(file=file)) as bar:
        bar.start(REPEATED)
        clock.now += 2
        bar.observe(first)
    assert file.getvalue() == f"Evaluated {len(first)} mappings in 2.0 s.\n"


def test_what_is_compiled_on_the_way_is_no_work(clock: Clock) -> None:
    first, *_, last = (x for x in batches(LOMA_PLAN) if len(x))
    file = StringIO()
    with ExplorationBar(exploration_size(REPEATED, LOMA_PLAN), Console(file=file)) as bar:
        bar.start(REPEATED)
        clock.compile(30)
        bar.observe(first)
        clock.now += 2
        clock.compile(10)
        bar.observe(last)
    evaluated = len(first) + len(last)
    assert file.getvalue() == (
        f"Evaluated {evaluated} mappings, {evaluated // 2}/s in 2.0 s, and 40.0 s of compiling.\n"
    )


def test_a_line_comes_before_the_first_kernel_is_compiled(
    compile_one: Callable[[], None], texts: list[str]
) -> None:
    file = StringIO()
    with ExplorationBar(ExplorationSize(()), Console(file=file)):
        assert not file.getvalue()
        compile_one()
        assert file.getvalue() == "Compiling the cost model, once per machine and version.\n"
        compile_one()
    compile_one()
    assert file.getvalue().count("Compiling") == 1
    assert texts == ["compiling: "] * 2


def test_a_clock_splits_the_time(clock: Clock) -> None:
    measured = WorkClock()
    assert measured.per_second(3) is None
    clock.now += 2
    measured.add_work()
    clock.now += 3
    measured.skip()
    clock.compile(5)
    clock.now += 7
    assert (measured.work, measured.compiling, measured.elapsed) == (2, 5, 12)
    assert measured.per_second(6) == 3
    measured.restart()
    assert (measured.work, measured.compiling, measured.elapsed) == (0, 5, 0)


def test_several_cores_say_how_fast_they_schedule() -> None:
    file = StringIO()
    with StreamBar(Console(file=file, width=200)) as bar:
        problem = streams.problem()
        stream(problem.workload, problem.accelerator, plan=streams.PLAN, progress=bar)
    ending = r" allocations, [\d,]+/s, all in [\d.]+ s(, and [\d.]+ s of compiling)?\.\n$"
    assert re.search(ending, file.getvalue())


@pytest.mark.parametrize("variable", [None, "FORCE_COLOR", "TTY_COMPATIBLE"])
def test_lines_are_printed_also_where_there_is_no_terminal(
    variable: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "0")  # rich decides
    line = ProgressLine(None, "reading")
    line.start()
    line.update("[b]1 of 2[/b]", description="n0", completed=1, total=2)
    line.say_compiling()
    line.print("[b]done[/b]")
    line.stop()
    found = capsys.readouterr().err
    assert "Compiling the cost model, once per machine and version.\n" in found
    assert "[b]done[/b]\n" in found
    assert ("reading" in found) is (variable == "FORCE_COLOR")
