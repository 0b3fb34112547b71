"""The progress bar: what it counts, and that it draws only on a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from nestmap.model import NetworkProblem
from nestmap.pipeline.cli import progress
from nestmap.pipeline.cli.progress import ExplorationBar
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.frontend.read import read_accelerator, read_mapping, read_workload
from tests.loma import LOMA_PLAN
from tests.pipeline.cli.inputs import Inputs


@pytest.fixture
def network(inputs: Inputs) -> NetworkProblem:
    """The small network on the small machine."""
    return NetworkProblem(
        workload=read_workload(inputs.network),
        accelerator=read_accelerator(inputs.machine),
        constraints=read_mapping(inputs.mapping, for_accelerator=None),
    )


def drawn(network: NetworkProblem, *, terminal: bool) -> str:
    """All that an exploration writes to a terminal of 80 columns, or to a file."""
    file = StringIO()
    with ExplorationBar(Console(file=file, force_terminal=terminal, width=80)) as bar:
        explore_network(network, LOMA_PLAN, progress=bar)
    return file.getvalue()


def test_a_terminal_sees_layers_and_mappings(network: NetworkProblem) -> None:
    text = drawn(network, terminal=True)
    assert "/2" in text
    assert "Evaluated 5 mappings, " in text


def test_a_file_gets_one_line(network: NetworkProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "is_compiled_before", lambda: True)
    text = drawn(network, terminal=False)
    assert text.startswith("Evaluated 5 mappings, ")
    assert text.count("\n") == 1


def test_after_an_error_nothing_is_claimed() -> None:
    file = StringIO()
    with pytest.raises(KeyboardInterrupt), ExplorationBar(Console(file=file)):
        raise KeyboardInterrupt
    assert file.getvalue() == ""
