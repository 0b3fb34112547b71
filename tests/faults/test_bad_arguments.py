"""Arguments of Python calls that are not what the signatures say: an error that names them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from nestmap import explore, stream, sweep
from nestmap.model import InputError, RunLabel
from nestmap.pipeline.explore.options import ObjectiveName, SearchOptions, SweepSearchOptions
from nestmap.store import Store

NETWORK, MACHINE, CORES = "light:alexnet", "tpu_like", "quad_tpu"
NUMBER, NOTHING = cast(str, 3), cast(str, None)
HALF = cast("Mapping[str, int]", {"N": 1.5})
WORD = cast(int, "a")

CALLS: dict[str, Callable[[], object]] = {
    "objective: found 'speed'": lambda: explore(
        NETWORK, MACHINE, objective=cast(ObjectiveName, "speed")
    ),
    "dims of N: found 1.5": lambda: explore(NETWORK, MACHINE, dims=HALF),
    "dims of N: found 1.5; expected a": lambda: stream(NETWORK, CORES, dims=HALF),
    "dims: found 3": lambda: explore(NETWORK, MACHINE, dims=cast("Mapping[str, int]", 3)),
    "workload: found None": lambda: explore(NOTHING, MACHINE),
    "workload: found 3": lambda: explore(NUMBER, MACHINE),
    "workload: found None; expected a": lambda: stream(NOTHING, CORES),
    "accelerator: found nothing": lambda: explore(NETWORK, NOTHING),
    "accelerator: found 3": lambda: explore(NETWORK, NUMBER),
    "cores: found nothing": lambda: stream(NETWORK, NOTHING),
    "store: found ''": lambda: explore(NETWORK, MACHINE, store=""),
    "store: found 3": lambda: explore(NETWORK, MACHINE, store=NUMBER),
    "store: found ''; expected the": lambda: stream(NETWORK, CORES, store=""),
    "store: found 3; expected the": lambda: Store.open(cast(Path, 3)),
    "store: found '.'": lambda: Store.open(Path()),
    "store: found ''; expected the path": lambda: Store.open_read_only(cast(Path, "")),
    "found 'a' as seed": lambda: explore(NETWORK, MACHINE, search="salsa", seed=WORD),
    "found 'a' as workers": lambda: explore(NETWORK, MACHINE, workers=WORD),
    "options: found 'serch'; expected search (": lambda: explore(
        NETWORK, MACHINE, **cast(SearchOptions, {"serch": "loma"})
    ),
    "options: found 'name'; expected one of": lambda: explore(
        NETWORK, MACHINE, **cast(SearchOptions, {"name": "base"})
    ),
    "options: found 'onn'; expected on (": lambda: sweep(
        "space.yaml", **cast(SweepSearchOptions, {"onn": "local:2"})
    ),
    "label: found 3": lambda: explore(NETWORK, MACHINE, store="s.duckdb", label=NUMBER),
    "name of a run: found 3": lambda: RunLabel.of(NUMBER, ()),
    "tags of a run: found 'fast'": lambda: RunLabel.of("a", "fast"),
    "tag of a run: found 3": lambda: RunLabel.of("a", [NUMBER]),
}


@pytest.mark.parametrize("message", CALLS)
def test_the_argument_is_named(
    message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        CALLS[message]()
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())
