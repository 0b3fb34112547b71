"""Schedules and searches in notebooks: the figures are those of the model, names are text."""

from dataclasses import replace

from nestmap.model import Objective
from nestmap.model.base import copy_with
from nestmap.model.multicore.schedule import AllocationSearch, Schedule
from nestmap.pipeline.format.numbers import capacity, cycles, energy_text
from nestmap.pipeline.render.tables.cells import NONE
from tests.notebooks.shown import html_of, page_of, tables_of, text_of
from tests.pipeline.render.schedules import pipelined, search

HOSTILE = "<script>alert(1)</script>&amp;\"'\n\u202e\x00</td>"


def named(schedule: Schedule, name: str) -> Schedule:
    """The schedule with another name of the machine and the workload."""
    problem = schedule.problem
    machine = copy_with(problem.accelerator, {"name": name})
    nodes = replace(problem.nodes, name=name)
    return replace(schedule, problem=replace(problem, accelerator=machine, nodes=nodes))


def found() -> AllocationSearch:
    return AllocationSearch(
        problem=pipelined(2, 3, 2).problem,
        objectives=(Objective.LATENCY, Objective.ENERGY),
        generation=search()[-1],
    )


def test_a_schedule_has_its_cores_energies_and_memories() -> None:
    schedule = pipelined(5, 4, 3)
    cores, energies, memories = tables_of(schedule)
    assert cores.column("Nodes") == ("8", "8", "4", NONE)
    assert cores.column("Busy cycles") == ("80", "80", "40", NONE)
    assert cores.column("Energy") == (*(energy_text(5.0 * n) for n in (8, 8, 4)), NONE)
    total = energy_text(schedule.energy.total)
    assert f"line on hand-made: {cycles(schedule.latency)} cycles, {total}" in text_of(schedule)
    assert energies.row("computation")["Energy"] == energy_text(schedule.energy.computation)
    assert energies.total[1] == total
    assert memories.column("Peak") == tuple(capacity(peak) for peak in schedule.peaks)


def test_a_search_has_its_front_by_rising_latency() -> None:
    (front,) = tables_of(found())
    known = sorted((x.fitness.latency, x.fitness.energy) for x in found().front if x.fitness)
    assert front.column("Latency cycles") == tuple(cycles(latency) for latency, _ in known)
    assert front.column("Energy") == tuple(energy_text(spent) for _, spent in known)
    assert "generation 4, 20 allocations scheduled" in front.caption


def test_names_are_text() -> None:
    shown = named(pipelined(2, 3, 2), HOSTILE)
    assert not {x.tag for x in page_of(shown).iter()} & {"script", "style", "link", "img"}
    assert "color" not in html_of(shown)
    assert "<script>alert(1)</script>&amp;" in text_of(shown)
