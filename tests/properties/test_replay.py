"""A mapping that was found costs exactly the same when it is written, read and replayed."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nestmap
from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    InfeasibleError,
    LayerResult,
    MappingConstraints,
    MappingType,
    NetworkEvaluation,
    SpatialProblem,
    TemporalMapping,
    Workload,
)
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from nestmap.pipeline.render.yaml.mapping import write_mapping
from nestmap.search import loma, meets_constraints
from nestmap.search.temporal.pinned import place_pinned_levels
from tests.properties.variants import examples
from tests.strategies import spatial_problems, temporal_mappings

BUNDLED = (
    ("light:alexnet", "tpu_like"),
    ("light:squeezenet", "meta_prototype"),
    ("light:shufflenet", "edge_tpu_like"),
    ("light:inception_v1", "eyeriss_like"),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write to, again and again."""
    return tmp_path_factory.mktemp("replay") / "found.yaml"


def replayed(file: Path, spatial: SpatialProblem, mapping: TemporalMapping) -> NetworkEvaluation:
    """What a mapping costs after a way through a file."""
    result = LayerResult(cme=evaluate(spatial, mapping))
    write_mapping(file, NetworkEvaluation(layers=(result,)))
    return replay(Workload.of(spatial.layer), spatial.accelerator, file)


@examples
@given(data=st.data(), spatial=spatial_problems(2**12), kind=st.sampled_from(MappingType))
def test_what_is_found_costs_the_same_again(
    file: Path, data: st.DataObject, spatial: SpatialProblem, kind: MappingType
) -> None:
    mappings = [batch.row(i) for batch in loma(spatial, 4, kind) for i in range(len(batch))]
    assume(mappings)
    chosen = data.draw(st.sampled_from(mappings))
    (result,) = replayed(file, spatial, chosen).layers
    assert result.cme.temporal_mapping == chosen
    # the file names all array dimensions, also those that nothing is unrolled over
    whole = meets_constraints(spatial.problem, spatial.spatial_mapping)
    found = evaluate(spatial, chosen).model_copy(update={"spatial_mapping": whole})
    assert result.cme == found
    assert result.statistics.evaluations == 1


@examples
@given(data=st.data(), spatial=spatial_problems(2**12))
def test_any_mapping_is_replayed_or_does_not_fit(
    file: Path, data: st.DataObject, spatial: SpatialProblem
) -> None:
    mapping = data.draw(temporal_mappings(spatial))
    assume(any(size > 1 for size in spatial.temporal_sizes.values()))
    if not len(place_pinned_levels(spatial, mapping)):
        with pytest.raises(InfeasibleError, match="too small for"):
            replayed(file, spatial, mapping)
        return
    (result,) = replayed(file, spatial, mapping).layers
    assert result.cme.temporal_mapping == mapping
    assert result.cme.energy == evaluate(spatial, mapping).energy


@pytest.mark.parametrize(("network", "machine"), BUNDLED)
def test_bundled_networks_cost_the_same_again(file: Path, network: str, machine: str) -> None:
    found = nestmap.explore(network, machine, search="loma", spatial_mappings=3, lpf_limit=3)
    write_mapping(file, found.total)
    again = replay(network, machine, file)
    assert [x.cme for x in again.layers] == [x.cme for x in found.layers]
    assert (again.energy, again.latency) == (found.energy, found.latency)


def test_exploring_with_a_mapping_found_finds_it_again(file: Path) -> None:
    # whatever the search: the one candidate that the constraints leave
    found = nestmap.explore(
        "light:alexnet",
        "tpu_like",
        search="loma",
        spatial_mappings=3,
        lpf_limit=4,
        objective="energy",
    )
    write_mapping(file, found.total)
    constraints: MappingConstraints = parse_mapping(file)
    again = nestmap.explore(
        "light:alexnet", "tpu_like", constraints, search="loma", spatial_mappings=3, lpf_limit=1
    )
    assert [x.cme for x in again.layers] == [x.cme for x in found.layers]
    assert all(x.statistics.evaluations == 1 for x in again.layers)
