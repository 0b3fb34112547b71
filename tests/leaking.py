"""Machines whose energies include what leaks."""

from hypothesis import strategies as st

from nestmap.model import Accelerator
from nestmap.model.base import copy_with
from tests.properties.variants import with_accelerator
from tests.strategies import Case, evaluated_cases

POWERS = st.sampled_from((0.0, 0.003, 1.5, 40.0))
PERIODS = st.sampled_from((0.25, 1.0, 7.3))


@st.composite
def leaking(draw: st.DrawFn, accelerator: Accelerator) -> Accelerator:
    """The accelerator with leakage somewhere, or nowhere, which counts or does not."""
    memories = tuple(
        copy_with(level, {"instance": copy_with(level.instance, {"leakage": draw(POWERS)})})
        for level in accelerator.memories
    )
    array = copy_with(
        accelerator.array, {"unit_leakage": draw(POWERS), "clock_period": draw(PERIODS)}
    )
    counts = draw(st.sampled_from((True, True, False)))
    updates: dict[str, object] = {"array": array, "memories": memories, "counts_leakage": counts}
    return copy_with(accelerator, updates)


@st.composite
def leaking_cases(draw: st.DrawFn, most_macs: int = 2**14) -> Case:
    """A mapping on such a machine."""
    case = draw(evaluated_cases(most_macs))
    spatial = with_accelerator(case.spatial, draw(leaking(case.spatial.accelerator)))
    return Case(spatial, case.temporal)
