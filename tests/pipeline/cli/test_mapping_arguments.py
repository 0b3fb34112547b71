"""Orders and cuts as the command line writes them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    Cuts,
    InfeasibleError,
    InputError,
    Loop,
    MappingBatch,
    NestmapError,
    NetworkProblem,
    SpatialProblem,
)
from nestmap.pipeline.cli.evaluate import (
    allocate_memories,
    parse_cuts,
    parse_order,
    temporal_mapping,
)
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stages import LomaStage, SpatialMappingConversionStage, WorkloadStage
from tests.pipeline.cli.inputs import written

LOOPS = st.builds(
    Loop,
    dimension=st.from_regex(r"[A-Z][A-Z0-9_]{0,31}", fullmatch=True),
    size=st.integers(1, 2**31 - 1),
)


@pytest.fixture(scope="module")
def spatial(tmp_path_factory: pytest.TempPathFactory) -> SpatialProblem:
    """The first layer (B 3, K 8, C 5, K unrolled twice)."""
    inputs = written(tmp_path_factory.mktemp("inputs"))
    network = NetworkProblem(
        workload=read_workload(inputs.network),
        accelerator=read_accelerator(inputs.machine),
        constraints=read_mapping(inputs.mapping, for_accelerator=None),
    )
    return SpatialMappingConversionStage()(next(WorkloadStage()(network)))


@settings(deadline=None)
@given(st.lists(LOOPS, min_size=1, max_size=20))
def test_what_loops_print_is_read_back(loops: list[Loop]) -> None:
    assert parse_order(", ".join(str(loop) for loop in loops)) == tuple(loops)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_an_order_or_an_input_error(text: str) -> None:
    try:
        loops = parse_order(text)
    except InputError:
        return
    assert all(loop.dimension in text.upper() for loop in loops)


@settings(deadline=None)
@given(texts=st.lists(st.text(alphabet="OWIX=,-0123 "), max_size=4))
def test_any_cuts_are_read_or_refused(spatial: SpatialProblem, texts: list[str]) -> None:
    try:
        cuts = parse_cuts(spatial, texts)
    except NestmapError:
        return
    assert [x.operand for x in cuts] == ["O", "W", "I"]


def test_cuts_come_in_the_order_of_the_layer(spatial: SpatialProblem) -> None:
    texts = ["I=3", "O=1, 1 ,3", " W = 3"]
    assert parse_cuts(spatial, texts) == (
        Cuts(operand="O", positions=(1, 1, 3)),
        Cuts(operand="W", positions=(3,)),
        Cuts(operand="I", positions=(3,)),
    )


def test_orders_are_placed_as_loma_does(spatial: SpatialProblem) -> None:
    batches: list[MappingBatch] = list(LomaStage()(spatial))
    rows = [batch.row(i) for batch in batches for i in range(len(batch))]
    assert len(rows) == 3
    assert [allocate_memories(spatial, row.order) for row in rows] == rows


def test_an_order_that_fits_nowhere_names_the_memory(spatial: SpatialProblem) -> None:
    with pytest.raises(InfeasibleError, match="outlet too small for O: needs at least 32 bit"):
        temporal_mapping(spatial, "B 3, C 5, K 4", ())
