"""Drawings of accelerators name operands as layers do: O, W and I, or what an equation has."""

from nestmap.model import OperandLink
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.memory_hierarchy import operand_names
from nestmap.pipeline.render.svg.accelerator import accelerator_picture
from tests.pipeline.render.samples import evaluated, machine


def link(operand: str, memory_operand: str) -> OperandLink:
    return OperandLink(operand=operand, memory_operand=memory_operand)


def test_memory_operands_usually_carry_inputs_and_weights() -> None:
    assert operand_names(machine("tpu_like")) == {"I1": "I", "I2": "W", "O": "O"}


def test_links_of_evaluations_give_the_names() -> None:
    cme = evaluated("tpu_like", 8, 64, 128)
    swapped = (link("O", "O"), link("W", "I1"), link("I", "I2"))
    product = (link("O", "O"), link("A", "I1"), link("B", "I2"))
    cmes = [copy_with(cme, {"links": links}) for links in (swapped, product)]
    assert operand_names(machine("tpu_like"), cmes) == {"I1": "W/A", "I2": "I/B", "O": "O"}


def test_the_drawing_has_the_names_of_layers() -> None:
    found = accelerator_picture(machine("tpu_like")).svg
    assert "holds I, W, O" in found
    assert "I1" not in found
    assert "I2" not in found
