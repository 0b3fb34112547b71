"""Whatever was explored can be explained, read back from the store as well."""

import pytest

from nestmap.model import IMC_CELLS, InputError, LayerResult, Recording, RecordMode, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.mapping.explanation import Change
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.explanation import explain
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.resume import recorded_problem, searched_problem
from nestmap.pipeline.stages import LomaStage, SpatialMappingGeneratorStage
from nestmap.store import Store
from tests.costmodel.machines import convolution
from tests.pipeline.networks import PROBLEM
from tests.pipeline.stages.kinds import KINDS, Kind
from tests.sweeps import every


def bundled_imc(name: str) -> Kind:
    """A window on an array that computes in memory, with pixels along the diagonal."""
    window = convolution({"K": 8, "C": 4, "OX": 14, "FX": 3}, "ix=1*ox+1*fx")
    workload = Workload.of(copy_with(window, {"name": "window"}), name="small")
    spatial = SpatialMappingGeneratorStage(max_mappings=3, weight_diagonal=True)
    plan = SearchPlan(search=LomaStage(lpf_limit=3), spatial=spatial)
    return Kind(plan, read_network(workload, name, "free"))


@pytest.mark.parametrize("name", every(4, [*KINDS]))
def test_every_kind_of_exploration(name: str) -> None:
    kind = KINDS[name]
    with Store.open(None) as store:
        done = explore_network(kind.network, kind.plan, store=store)
        stored, network = store.best(done.run), store.problem(done.run)
        for result in stored.layers:
            spatial = recorded_problem(network, result.cme)
            assert searched_problem(store, done.run, network, result) == spatial
            found = explain(spatial, result.cme)
            assert (found.layer, found.cme) == (result.cme.layer, result.cme)
            assert found.latency.total == result.cme.latency
            refilled = [x for x in found.what_ifs if x.change is Change.FILLED]
            greedy = name != "even" and not name.startswith("exact")
            assert not refilled or not greedy  # else that is how they are filled already


@pytest.mark.parametrize("machine", ["aimc", "dimc"])
def test_machines_that_were_changed_for_a_search(machine: str) -> None:
    kind = bundled_imc(machine)
    with Store.open(None) as store:
        done = explore_network(kind.network, kind.plan, store=store)
        (result,) = done.layers
        spatial = searched_problem(store, done.run, kind.network, result)
        found = explain(spatial, result.cme)
    assert spatial.accelerator != kind.network.accelerator
    assert found.cme == result.cme
    assert IMC_CELLS in [tile.memory for tile in found.nest.tiles]


def test_results_of_other_networks_are_refused() -> None:
    with Store.open(None) as store:
        done = explore_network(PROBLEM, KINDS["loma"].plan, store=store)
    cme = copy_with(done.layers[0].cme, {"layer": "elsewhere"})
    with pytest.raises(InputError, match="layer elsewhere: found an evaluation of a layer that"):
        recorded_problem(PROBLEM, cme)


def test_a_machine_that_nobody_recorded_is_refused() -> None:
    with Store.open(None) as store:
        recording = Recording(record=RecordMode.NONE)
        done = explore_network(PROBLEM, KINDS["loma"].plan, store=store, recording=recording)
        (first, *_) = done.layers
        other = LayerResult(cme=copy_with(first.cme, {"stall": first.cme.stall + 1}))
        with pytest.raises(InputError, match="was not made for this problem"):
            explain(searched_problem(store, done.run, PROBLEM, other), other.cme)
