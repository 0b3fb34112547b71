"""What the reference package does beside its results is left out."""

import pytest


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package draws the memories in each run, which takes longer than some networks."""
    drawing = "zigzag.stages.results.visualization.visualize_memory_hierarchy_graph"
    monkeypatch.setattr(drawing, _not_drawn)


def _not_drawn(_memories: object, save_path: str) -> None:
    assert save_path.endswith(".png")
