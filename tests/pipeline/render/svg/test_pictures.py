"""Pictures of accelerators and mappings: what they say, under names of every kind."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from nestmap.model import InputError
from nestmap.model.base import copy_with
from nestmap.pipeline.render.svg.accelerator import accelerator_picture
from nestmap.pipeline.render.svg.loops import Picture, loops_picture
from tests.pipeline.render.samples import HOSTILE, evaluated, machine, network


def texts(picture: Picture) -> list[str]:
    root = ElementTree.fromstring(picture.svg)
    return [x.text or "" for x in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", ["tpu_like", "aimc", "dimc", "edge_22nm", "eyeriss_like"])
def test_an_accelerator_has_all_memories(name: str) -> None:
    accelerator = machine(name)
    found = texts(accelerator_picture(accelerator, network(("a",), "tpu_like")))
    for level in accelerator.memories:
        assert level.name in found
    assert f"array of {accelerator.array.units:,} units" in found


def test_loops_stand_from_the_outermost_in_beside_their_memories() -> None:
    cme = evaluated("tpu_like", 8, 64, 128)
    found = texts(loops_picture(cme, "net"))
    assert found[0].startswith("net, layer on tpu_like: ")
    code = [x for x in found if x.startswith("for ")]
    loops = reversed(cme.temporal_mapping.order)
    assert code == [f"for {loop.dimension} in {loop.size}" for loop in loops]
    held = " ".join(found)
    for level in cme.levels:
        assert level.memory in held


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_every_kind_are_drawn(name: str, tmp_path: Path) -> None:
    cme = copy_with(evaluated("tpu_like", 8, 64, 128), {"layer": name, "accelerator": name})
    renamed = copy_with(machine("tpu_like"), {"name": name})
    for picture in (loops_picture(cme, name), accelerator_picture(renamed)):
        assert texts(picture)
        picture.save(tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_is_no_page(tmp_path: Path) -> None:
    picture = accelerator_picture(machine("tpu_like"))
    picture.save(tmp_path / "picture.pdf")
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF")
    picture.save(str(tmp_path / "picture.svg"))
    assert (tmp_path / "picture.svg").read_text() == picture.svg
    with pytest.raises(InputError, match=r"expected one of \.svg, \.png, \.pdf"):
        picture.save(tmp_path / "picture.html")
