"""Tables of schedules: what the front lists."""

from nestmap.model.multicore.allocation import Fitness, Individual
from nestmap.pipeline.render.tables.schedule import allocation_table
from tests.pipeline.render.schedules import pipelined


def test_a_front_lists_the_reported_allocation_that_ties_with_one_of_it() -> None:
    space = pipelined(2, 3, 2).problem.space
    one, less = (
        Individual(
            allocation=(core,) * len(space.groups),
            fitness=Fitness(latency=5, energy=2.0, memory=bits),
        )
        for core, bits in ((0, 80), (1, 40))
    )
    for reported, marks in ((less, ["yes", ""]), (one, ["yes"]), (None, [""])):
        made = allocation_table((one,), space, reported)
        place = [column.title for column in made.columns].index("Reported")
        assert [row.texts[place] for row in made.rows] == marks
