"""The figures of the text, read back, are those of the cost model, rounded."""

from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import CostModelEvaluation
from nestmap.pipeline.analysis.mapping.explanation import EnergyKind
from nestmap.pipeline.explore.explanation import Explanation, explain
from nestmap.pipeline.render.tables.explanation import matters
from tests.in_memory import imc_cases
from tests.leaking import leaking_cases
from tests.pipeline.render.text.read_explanation import bits, cells, figure, part, percent
from tests.properties.variants import few_examples
from tests.strategies import Case, evaluated_cases

CASES = st.one_of(evaluated_cases(2**12), leaking_cases(2**12), imc_cases(2**10))


def explained(case: Case) -> tuple[CostModelEvaluation, Explanation]:
    """The cost of a mapping and its explanation."""
    cme = evaluate(case.spatial, case.temporal)
    return cme, explain(case.spatial, cme)


@few_examples
@given(CASES)
def test_latency(case: Case) -> None:
    cme, found = explained(case)
    exact = {step.part.value: step.cycles for step in found.latency.steps} | {
        "latency": cme.latency
    }
    rows = [cells(line) for line in part(found.text(), "LATENCY")]
    assert [row[0] for row in rows] == list(exact)
    for row in rows:
        assert figure(row[1]).tells(exact[row[0]])
        assert percent(row[2]).tells(exact[row[0]] / cme.latency)
    assert figure(rows[-1][1]).tells(cme.latency2)


@few_examples
@given(CASES)
def test_energy(case: Case) -> None:
    cme, found = explained(case)
    exact: list[tuple[str, float]] = []
    for entry in found.energy.parts:
        exact.append((entry.name, entry.energy))
        if entry.kind is EnergyKind.ARRAY:
            exact += [(x.part.value, x.energy) for x in cme.array_energies]
        if entry.kind is EnergyKind.LEAKAGE:
            exact += [(x.part, x.energy) for x in cme.static_energies]
    exact.append(("energy", cme.energy))
    rows = [cells(line) for line in part(found.text(), "ENERGY")]
    assert [row[0] for row in rows] == [name for name, _ in exact]
    for row, (_, spent) in zip(rows, exact, strict=True):
        assert figure(row[1]).tells(spent * 1e-12)
        assert percent(row[2]).tells(spent / cme.energy) if cme.energy else row[2] == "-"


@few_examples
@given(CASES)
def test_accesses(case: Case) -> None:
    cme, found = explained(case)
    lines = part(found.text(), "ACCESSES")[3:]
    rows = [cells(line) for line in lines if not line.startswith("---")]
    for row, entry in zip(rows, cme.levels, strict=False):
        assert (row[0], row[1]) == (entry.memory, entry.operand)
        assert int(row[2].replace(",", "")) == entry.bits
        assert percent(row[3]).tells(entry.utilization)
        for text, words in zip(row[5:9], entry.costs.accesses, strict=True):
            assert figure(text).tells(words) if words else text == "-"
        assert figure(row[9]).tells(entry.costs.energy * 1e-12)
    assert len(rows) == len(cme.levels) + 1
    assert rows[-1][0] == "all memories"
    assert figure(rows[-1][1]).tells(cme.memory_energy * 1e-12)


@few_examples
@given(CASES)
def test_ports(case: Case) -> None:
    _, found = explained(case)
    used = {(x.name.port, x.name.memory): x for x in found.ports if x.transfers}
    rows = [cells(line) for line in part(found.text(), "PORTS")[3:]]
    assert sorted((row[0], row[1]) for row in rows) == sorted(used)
    stalls = [int(row[3].replace(",", "")) for row in rows]
    assert stalls == sorted((x.stall for x in used.values()), reverse=True)
    for row, stall in zip(rows, stalls, strict=True):
        port = used[row[0], row[1]]
        assert (port.stall, row[2]) == (stall, f"{port.width_max:,}")
        assert row[4] == f"{port.busy:,}"
        for transfer in port.transfers:
            assert transfer.movement.value in row[5]


@few_examples
@given(CASES)
def test_tiles(case: Case) -> None:
    _, found = explained(case)
    held: dict[tuple[str, str, str], int] = {}
    lines = part(found.text(), "LOOP NEST")
    names = ", ".join(x.replace("_", " ") for x in found.nest.dataflows)
    assert (f"# {names}" in lines) is bool(names)
    for line in lines:
        if line.strip().startswith("#") and line != f"# {names}":
            memory, _, tiles = line.strip().removeprefix("# ").partition(": ")
            for text in tiles.split(", "):
                operand, size, unit, of = text.split()
                found_here = [
                    tile
                    for tile in found.nest.tiles
                    if (tile.operand, tile.memory) == (operand, memory.split(" x")[0])
                ]
                (tile,) = found_here
                assert bits(f"{size} {unit}").tells(tile.bits)
                assert percent(of.strip("()")).tells(tile.share)
                instances = memory.partition(" x")[2].replace(",", "") or "1"
                assert int(instances) == tile.instances
                held[operand, memory, text] = 1
    assert len(held) == len(found.nest.tiles)


@few_examples
@given(CASES)
def test_what_if(case: Case) -> None:
    cme, found = explained(case)
    rows = [cells(line) for line in part(found.text(10_000), "WHAT IF")[3:] if "  " in line]
    assert rows[0][0] == "as it is"
    assert figure(rows[0][1]).tells(cme.latency)
    assert figure(rows[0][2]).tells(cme.energy * 1e-12)
    different = {(x.latency, x.energy) for x in found.what_ifs if matters(cme, x)}
    for row in rows[1:]:
        assert any(
            figure(row[1]).tells(x.latency) and figure(row[3]).tells(x.energy * 1e-12)
            for x in found.what_ifs
        )
    for latency, energy in different:
        assert any(
            figure(row[1]).tells(latency) and figure(row[3]).tells(energy * 1e-12)
            for row in rows[1:]
        )
