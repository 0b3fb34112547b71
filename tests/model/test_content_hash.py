"""Identity is content: hashes are the same everywhere and differ where content does."""

from hypothesis import given, settings

from nestmap.model import Accelerator, Frozen, Layer, Loop, Term
from nestmap.model.base import copy_with
from tests.model.builders import convolution, fully_connected, machine
from tests.strategies import accelerators, layers
from tests.sweeps import some_of

# Stores hold these hashes: they may change only together with a migration.
KNOWN: tuple[tuple[Frozen, str], ...] = (
    (Loop(dimension="K", size=4), "66c72c1e79e84a4bd26f511c95153047"),
    (fully_connected(), "a2390e4d9082c4a4c7e549e50a08a8c5"),
    (convolution(), "bdabaefc420d486d834ea2b1bb2cc6b2"),
    (machine(), "c3b3c1372fffd76d5d98e24cf3f5141f"),
)


def test_hashes_never_change() -> None:
    assert [model.content_hash for model, _ in KNOWN] == [text for _, text in KNOWN]


def test_the_class_is_part_of_the_content() -> None:
    assert Loop(dimension="K", size=4).content_hash != Term(dimension="K").content_hash


@settings(max_examples=some_of(50), deadline=None)
@given(layers(), layers())
def test_equal_hashes_mean_equal_layers(a: Layer, b: Layer) -> None:
    assert (a.content_hash == b.content_hash) == (a == b)


@settings(max_examples=some_of(50), deadline=None)
@given(accelerators(), accelerators())
def test_equal_hashes_mean_equal_accelerators(a: Accelerator, b: Accelerator) -> None:
    assert (a.content_hash == b.content_hash) == (a == b)


def test_a_changed_number_changes_the_hash() -> None:
    before = fully_connected()
    after = fully_connected(K=16)
    assert before.content_hash != after.content_hash


def test_replaced_changes_the_named_fields_only() -> None:
    layer = copy_with(fully_connected(), {"name": "other"})
    assert layer.name == "other"
    assert layer.loops == fully_connected().loops
    assert layer.content_hash != fully_connected().content_hash
