"""Costs of nodes on cores, whatever the core: what streams, what adds up, what passes when."""

from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import Accelerator, Layer, LayerNode, MemoryLevel, Objective
from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.cn_costs import CnKind, RecordedCost
from nestmap.model.multicore.top_memories import memory_operands
from nestmap.pipeline.stage_graph import each
from nestmap.pipeline.stages import CostModelStage, LomaStage, SpatialMappingGeneratorStage, minimal
from nestmap.pipeline.stages.multicore.intra_core import CustomSpatialMappingGeneratorStage
from nestmap.search.multicore.core_costs.cost_table import Cell, CoreView, CostTable, held_by_memory
from nestmap.search.multicore.core_costs.offchip_memory import OffChip
from nestmap.search.multicore.core_costs.operand_residency import streamed_operands
from nestmap.search.multicore.split.node_nests import layer_nest
from tests.search.multicore.core_costs.test_offchip_memory import BOTH, EACH
from tests.strategies import accelerators, layers
from tests.sweeps import some_of

ORDERS = LomaStage(lpf_limit=3) >> each(CostModelStage()) >> minimal(Objective.LATENCY)
SEARCH = (
    CustomSpatialMappingGeneratorStage(SpatialMappingGeneratorStage(max_mappings=1))
    >> each(ORDERS)
    >> minimal(Objective.LATENCY)
)


def kind_of(layer: Layer, more: int) -> CnKind:
    """The whole layer as a node; what others make for its first input is larger by some bits."""
    bits = [layer.elements(x.name) * x.precision for x in layer.operands]
    held = (bits[0], bits[1] + more, *bits[2:])
    return CnKind(
        operator=layer.operator,
        loops=layer.loops,
        output=layer.output,
        inputs=layer.inputs,
        held=held,
    )


@settings(max_examples=some_of(60))
@given(
    layers(most_macs=2**12),
    accelerators(),
    st.sampled_from([BOTH, EACH]),
    st.sampled_from([None, 8, 24]),
    st.sampled_from([0, 0, 1000]),
)
def test_costs_are_those_of_the_mapping(
    layer: Layer, accelerator: Accelerator, dram: MemoryLevel, width: int | None, more: int
) -> None:
    core = ComputeCore(id=0, accelerator=accelerator)
    offchip = OffChip(memories=(dram,), down=width, up=width)
    kind, nest = kind_of(layer, more), layer_nest(LayerNode(layer=layer), 0)
    carried = memory_operands(nest, core)
    cell = Cell(kind=kind, view=CoreView.of(core, offchip), exact=True)
    found = CostTable(SEARCH, evaluate).of(cell, nest)
    if not isinstance(found, RecordedCost):
        assert found  # a reason
        return
    cost, cme = found.cost, found.cme
    assert cost is not None
    assert cme is not None
    assert carried is not None
    names = dict(zip(carried, kind.operands, strict=True))
    least = streamed_operands(core.top_levels, held_by_memory(kind, carried))
    assert {names[x] for x in least} <= set(cost.streamed)
    own = {level.name for level in accelerator.memories}
    beyond = [entry for entry in cme.levels if entry.memory not in own]
    assert {entry.operand for entry in beyond} == set(cost.streamed)
    assert cost.runtime == max(1, ceil(cme.latency1))
    assert cost.offchip_energy == pytest.approx(sum(x.costs.energy for x in beyond))
    assert cost.onchip_energy + cost.offchip_energy == pytest.approx(cme.energy)
    read = dram.instance.ports[0].width_max if width is None else width
    assert cost.read_rate <= read
    assert (cost.read_rate + cost.write_rate > 0) == any(x.costs.energy for x in beyond)
