"""Each choice of the cost model is said, in notebooks and reports; the usual ones are not."""

from nestmap.model import Accelerator, Counting
from nestmap.model.base import copy_with
from nestmap.pipeline.render.notebook.views import accelerator_html
from nestmap.pipeline.render.text.accelerator import chosen_models
from tests.costmodel.test_busy_ports import SHARED
from tests.costmodel.test_sliding import reusing
from tests.zeros import bitmask, run_length

CHOICES = {"counts_leakage": True, "free_first_sum": True, "strict_ports": True}


def chosen(machine: Accelerator, *names: str) -> str:
    exact = machine.counted(Counting.EXACT)
    return " ".join(chosen_models(copy_with(exact, {x: CHOICES[x] for x in names})))


def test_each_choice_is_a_sentence() -> None:
    assert chosen(SHARED) == ""
    reference = SHARED.counted(Counting.REFERENCE)
    assert list(chosen_models(reference)) == ["Costs are counted as by ZigZag."]
    assert chosen(SHARED, "free_first_sum") == "Sums begin without a read of zeros."
    assert chosen(SHARED, "strict_ports") == "Layers take at least as long as each port is busy."
    packed = (bitmask("I1"), run_length("O", 5))
    memories = tuple(copy_with(x, {"compression": packed}) for x in SHARED.memories[-1:])
    array = copy_with(SHARED.array, {"zero_gating": ("I1",)})
    sparse: dict[str, object] = {"array": array, "memories": (*SHARED.memories[:-1], *memories)}
    assert chosen(copy_with(SHARED, sparse)) == (
        "Memory top compresses I1 bitmask, O run_length 5. Zeros of I1 gate operations."
    )
    array = copy_with(SHARED.array, {"zero_skipping": ("I1", "I2")})
    skipping = copy_with(SHARED, {"array": array})
    assert chosen(skipping) == "Zeros of I1, I2 skip steps of the array."
    hops = copy_with(SHARED, {"array": copy_with(SHARED.array, {"hop_energy": 0.5})})
    assert chosen(hops) == "A bit that units hand on takes 0.5 pJ."
    links = copy_with(SHARED, {"array": copy_with(SHARED.array, {"hop_bandwidth": 8})})
    assert chosen(links) == "Between two units, each operand moves at most 8 bit a cycle."
    both = reusing(SHARED, ("inputs", "top"))
    assert chosen(both) == "Of windows that slide, inputs, top load only what is new."
    one = reusing(SHARED, ("inputs",))
    assert chosen(one) == "Of windows that slide, inputs loads only what is new."
    assert chosen(one) in accelerator_html(one)
