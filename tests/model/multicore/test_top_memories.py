"""The memories that tensors live in: each once, with all cores that share it."""

from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.builders import ChannelSpec, OffChip, dram, mesh, number_cores
from nestmap.model.multicore.cn_layer import LayerNest, TensorUse
from nestmap.model.multicore.top_memories import NO_MEMORY, TopMemories, memory_operands
from nestmap.pipeline.frontend.read.accelerator import read_multicore


def use(operand: str) -> TensorUse:
    return TensorUse(operand=operand, axes=(), precision=8)


def nest(*inputs: str) -> LayerNest:
    return LayerNest(
        name="layer",
        number=0,
        operator="Conv",
        loops=(),
        output=use("O"),
        inputs=tuple(map(use, inputs)),
    )


def test_memories_of_cores_come_before_the_one_off_the_chip() -> None:
    homes = TopMemories(accelerator=read_multicore("quad_tpu"))
    assert [str(home) for home in homes.memories][-2:] == [
        "sram_128KB_2rw of core 5",
        "dram of core 6",
    ]
    assert homes.offchip == (len(homes.memories) - 1,)
    assert homes.index_of(0, "I1") == homes.index_of(0, "O") == 0
    assert homes.index_of(0, "X") == NO_MEMORY


def test_a_shared_memory_is_there_once() -> None:
    homes = TopMemories(accelerator=read_multicore("dual_shared"))
    assert [str(home) for home in homes.memories] == ["sram of cores 0, 1", "dram of core 2"]
    assert homes.index_of(0, "O") == homes.index_of(1, "O") == 0


def test_several_outermost_memories_of_a_core_are_several_homes() -> None:
    machine = read_multicore("quad_hetero")
    homes = TopMemories(accelerator=machine)
    names = [home.name for home in homes.memories if home.cores == (3,)]
    assert names == ["sram_1MB_A", "sram_1MB_W"]
    assert homes.memories[homes.index_of(3, "I2")].name == "sram_1MB_W"


def test_widths_are_those_of_the_widest_ports() -> None:
    core = read_multicore("quad_tpu").compute_cores[0]
    far = OffChip(core=dram(1, 64, 15.0), wires=ChannelSpec(bandwidth=64), linked=(0,))
    homes = TopMemories(
        accelerator=mesh("one", number_cores([core.accelerator]), 1, ChannelSpec(), far)
    )
    ports = core.top_levels["O"].instance.ports
    reading = max(x.width_max for x in ports if x.kind.value != "write")
    writing = max(x.width_max for x in ports if x.kind.value != "read")
    assert (homes.memories[0].read_width, homes.memories[0].write_width) == (reading, writing)
    assert homes.memories[1].read_width == 64


def test_memory_operands_are_those_of_layers_and_the_last_one_for_what_is_left() -> None:
    core = read_multicore("quad_tpu").compute_cores[0]
    assert isinstance(core, ComputeCore)
    assert memory_operands(nest("I", "W"), core) == ("O", "I1", "I2")
    assert memory_operands(nest("A", "B"), core) == ("O", "I1", "I2")
    assert memory_operands(nest("I", "I1", "I2"), core) == ("O", "I1", "I2", "I2")
