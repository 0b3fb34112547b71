"""Vector operators in the table: a row where they count, none where they do not."""

import pytest

from nestmap.model import NetworkEvaluation
from nestmap.model.base import copy_with
from nestmap.pipeline.format.numbers import cycles, energy
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.plain_table import table_lines
from tests.store.builders import layer, network, result, vector_entry, with_vector

NETWORK = network(layer("one"), layer("two", 24))


def table(evaluation: NetworkEvaluation, width: int) -> list[str]:
    """The lines of the table."""
    return [x.text for x in table_lines(layer_table(evaluation, NETWORK.workload.layers), width)]


def counted(repeats: str | None) -> NetworkEvaluation:
    """Two layers, the second of which may repeat the first, and two vector operators."""
    whole = copy_with(with_vector(result(NETWORK)), {"vector_counted": True})
    first, second = whole.layers
    return copy_with(whole, {"layers": (first, copy_with(second, {"repeats": repeats}))})


@pytest.mark.parametrize("width", [40, 1000])
@pytest.mark.parametrize(("repeats", "times"), [(None, []), ("one", ["2"])])
def test_the_row_of_vector_operators(width: int, repeats: str | None, times: list[str]) -> None:
    evaluation = counted(repeats)
    lines = table(evaluation, width)
    start = next(i for i, line in enumerate(lines) if line.startswith("vector"))
    costs = (energy(evaluation.vector_energy), cycles(evaluation.vector_latency))
    row = lines[start].removeprefix("vector").replace("operators", "", 1).split()
    assert row == [*times, "-", *costs[0].split(), costs[1], "-", "-"]
    assert ";" not in lines[start + 1]
    assert lines[-1].startswith("total")
    assert cycles(evaluation.latency) in lines[-1]


@pytest.mark.parametrize("width", [40, 1000])
def test_without_counting_there_is_no_row(width: int) -> None:
    assert table(with_vector(result(NETWORK)), width) == table(result(NETWORK), width)
    none = copy_with(result(NETWORK), {"vector_counted": True})
    assert table(none, width) == table(result(NETWORK), width)


def test_the_column_adds_up() -> None:
    entries = (vector_entry("a"), vector_entry("b"))
    evaluation = copy_with(with_vector(result(NETWORK), *entries), {"vector_counted": True})
    lines = table(evaluation, 1000)
    rows = [line for line in lines if line[0] not in "-L "]
    end = lines[0].index("Latency") + len("Latency")
    latencies = [float(row[:end].split()[-1]) for row in rows if row[0] != "v"]
    assert [row.split()[0] for row in rows] == ["one", "two", "vector", "total"]
    assert sum(latencies[:2]) + evaluation.vector_latency == latencies[2]
