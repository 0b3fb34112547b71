"""Pickles and dumps: what is written comes back equal, and trouble is explained."""

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from errno import ENOSPC
from functools import partial
from pathlib import Path
from typing import cast
from uuid import UUID

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    EvaluationBatch,
    InputError,
    LayerNode,
    MappingBatch,
    MappingProblem,
    MappingType,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    SpatialProblem,
    Workload,
)
from nestmap.pipeline import Stage, each
from nestmap.pipeline.describe import describe
from nestmap.pipeline.stages import (
    CostModelStage,
    DumpStage,
    KBestStage,
    ListifyStage,
    LoadStage,
    LomaStage,
    MinimalEnergyStage,
    PickleSaveStage,
    SumStage,
)
from nestmap.pipeline.util.pickle_files import dump, dumped, read_pickle, write_pickle
from nestmap.search import Shortlist, loma
from tests.costmodel.machines import machine, mapped, matmul, memory

SPATIAL = mapped(
    matmul(k=4, c=6),
    machine(memory("register", size=64, operands="I2"), memory("top", served="D1")),
)
ORDERS = LomaStage() >> each(CostModelStage())
SUM = (ORDERS >> MinimalEnergyStage())(SPATIAL)


def evaluations() -> list[EvaluationBatch]:
    return [evaluate_batch(batch) for batch in loma(SPATIAL, 6, MappingType.UNEVEN)]


def same_mappings(one: MappingBatch, other: MappingBatch) -> bool:
    return (
        one.problem == other.problem
        and one.factors == other.factors
        and one.statistics == other.statistics
        and np.array_equal(one.orders, other.orders)
        and np.array_equal(one.cuts, other.cuts)
        and (one.orders.dtype, one.cuts.dtype) == (other.orders.dtype, other.cuts.dtype)
    )


def same(one: EvaluationBatch, other: EvaluationBatch) -> bool:
    return (
        same_mappings(one.mappings, other.mappings)
        and one.ideal_cycles == other.ideal_cycles
        and one.statistics == other.statistics
        and np.array_equal(one.energy, other.energy)
        and np.array_equal(one.latency0, other.latency0)
        and np.array_equal(one.latency1, other.latency1)
        and np.array_equal(one.latency2, other.latency2)
    )


WORKLOAD = Workload(name="net", nodes=(LayerNode(layer=SPATIAL.layer),))
NETWORK = NetworkProblem(workload=WORKLOAD, accelerator=SPATIAL.accelerator)
MODELS = [NETWORK, WORKLOAD, SPATIAL, SPATIAL.problem, SPATIAL.layer, SUM.mappings.row(0)]


@pytest.mark.parametrize("model", [*MODELS, SumStage()([SUM])], ids=lambda x: type(x).__name__)
def test_models_come_back_equal(
    model: NetworkProblem | SpatialProblem | MappingProblem | NetworkEvaluation, tmp_path: Path
) -> None:
    path = tmp_path / "model.pickle"
    save = PickleSaveStage[object](path=path)
    assert save(model) is model
    read = read_pickle(path, type(model))
    assert read == model
    assert hash(read) == hash(model)
    assert read.content_hash == model.content_hash


def test_batches_come_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "batch.pickle"
    for batch in evaluations():
        PickleSaveStage[MappingBatch](path=path)(batch.mappings)
        assert same_mappings(read_pickle(path, MappingBatch), batch.mappings)
        PickleSaveStage[EvaluationBatch](path=path)(batch)
        assert same(read_pickle(path, EvaluationBatch), batch)


def test_shortlists_come_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "few.pickle"
    ranking = KBestStage(objective=Objective.EDP, k=4)
    few = (ORDERS >> ranking >> PickleSaveStage[Shortlist](path=path))(SPATIAL)
    read = read_pickle(path, Shortlist)
    assert (read.problem, read.statistics) == (few.problem, few.statistics)
    assert len(read) == len(few) == 4
    assert all(map(same, read.rows, few.rows))


def test_what_comes_back_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "all.pickle"
    save = PickleSaveStage[tuple[EvaluationBatch, ...]](path=path)
    (ORDERS >> ListifyStage[EvaluationBatch]() >> save)(SPATIAL)
    batches = cast("tuple[EvaluationBatch, ...]", read_pickle(path, tuple))
    assert same(MinimalEnergyStage()(batches), SUM)
    assert evaluate_batch(batches[0].mappings).energy.tolist() == batches[0].energy.tolist()


def test_missing_folders_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where" / "out.pickle"
    for number in (1, 2):
        PickleSaveStage[int](path=path)(number)
        assert read_pickle(path, int) == number
    assert [x for x in tmp_path.rglob("*") if x.is_file()] == [path]


def a_file(folder: Path) -> Path:
    path = folder / "taken"
    path.write_text("a file")
    return path


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    taken = a_file(tmp_path)
    stages: list[Stage[int, int]] = [
        PickleSaveStage[int](path=taken / "out.pickle"),
        DumpStage[int](folder=taken),
        DumpStage[int](folder=taken / "below"),
    ]
    for stage in stages:
        with pytest.raises(InputError, match="taken"):
            stage(1)
    assert list(tmp_path.iterdir()) == [taken]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file to write to"):
        PickleSaveStage[int](path=tmp_path)(1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failure_on_the_way_leaves_the_old_file_and_no_other(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "out.pickle", tmp_path / "dump"
    PickleSaveStage[str](path=path)("old")
    dump(folder, "old")
    write = Path.write_bytes

    def full(part: Path, *_: object) -> int:
        write(part, b"half")
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, step, full)
    stages: list[Stage[str, str]] = [PickleSaveStage[str](path=path), DumpStage[str](folder=folder)]
    for save in stages:
        with pytest.raises(InputError, match="No space left"):
            save("new")
    monkeypatch.undo()
    assert read_pickle(path, str) == "old"
    assert sorted(tmp_path.rglob("*.*")) == sorted([path, *dumped(folder)])
    assert list(LoadStage(str)(folder)) == ["old"]


@pytest.mark.parametrize("kind", ["save", "dump"])
def test_a_stream_is_no_data(kind: str, tmp_path: Path) -> None:
    stages: dict[str, Stage[Iterator[int], Iterator[int]]] = {
        "save": PickleSaveStage[Iterator[int]](path=tmp_path / "out.pickle"),
        "dump": DumpStage[Iterator[int]](folder=tmp_path / "dump"),
    }
    with pytest.raises(InputError, match=r"generator.*ListifyStage"):
        stages[kind](x for x in range(3))
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_pickle_of_that_kind_is_wrong_input(tmp_path: Path) -> None:
    path = tmp_path / "out.pickle"
    with pytest.raises(InputError, match="No such file"):
        read_pickle(path, int)
    whole = pickle.dumps(SUM)
    for data in (b"", b"no pickle", b"\x80\x04", b"\x80\xff.", whole[:-20]):
        path.write_bytes(data)
        with pytest.raises(InputError, match="truncated or not a pickle"):
            read_pickle(path, EvaluationBatch)
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"a pickle of EvaluationBatch.*holds int"):
        read_pickle(path, int)


@dataclass(frozen=True)
class Mine:
    """Data of a program that uses nestmap."""

    x: int


class Acts:
    """Pickles that call something when they are read."""

    def __init__(self, function: Callable[..., object], *args: object) -> None:
        self._call = function, args

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._call


def attacks(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Pickles that would create the file ``ran`` in a folder, or run something else."""
    ran, dumps = folder / "ran", partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL)
    yield "posix.mkdir", dumps(Acts(os.mkdir, ran))
    yield "builtins.eval", dumps(Acts(eval, f"open({str(ran)!r}, 'w')"))
    yield "builtins.getattr", dumps(Acts(getattr, ran, "touch"))
    yield "builtins.getattr", dumps(Acts(getattr, Path, "touch"))
    yield "io.open", dumps(Acts(open, str(ran), "w"))
    yield "subprocess.Popen", dumps(Acts(subprocess.Popen, ["touch", str(ran)]))
    yield "nestmap.pipeline.util.pickle_files.write_pickle", dumps(Acts(write_pickle, ran, 1))
    yield "nestmap.pipeline.stages.mapping.loma.LomaStage", dumps(LomaStage())
    yield "nestmap.store.store.Store", b"cnestmap.store.store\nStore\n."
    module = b"nestmap.pipeline.util.pickle_files"
    named = b"\x80\x04\x8c%c%s\x8c\x0cpickle.loads\x93." % (len(module), module)
    yield f"{module.decode()}.pickle.loads", named
    yield "pathlib.attrgetter", b"cpathlib\nattrgetter\n(S'touch'\ntR."
    yield "nowhere.nothing", b"cnowhere\nnothing\n."
    yield "this.d", b"cthis\nd\n."
    yield "numpy.load", dumps(Acts(np.load, str(ran)))


def test_pickles_that_act_are_refused_unless_trusted(tmp_path: Path) -> None:
    path, folder = tmp_path / "out.pickle", tmp_path / "ran"
    for name, data in attacks(tmp_path):
        path.write_bytes(data)
        with pytest.raises(InputError, match=rf"a pickle that calls {re.escape(name)}; .*trusted"):
            read_pickle(path, object)
        assert not folder.exists()
    assert "this" not in sys.modules
    path.write_bytes(pickle.dumps(Acts(folder.mkdir)))
    assert read_pickle(path, type(None), trusted=True) is None
    assert folder.is_dir()
    dump(folder, len)
    with pytest.raises(InputError, match=r"builtins\.len"):
        next(LoadStage(object)(folder))
    assert next(LoadStage(object, trusted=True)(folder)) is len


def test_data_of_any_kind_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "out.pickle"
    for item in (
        [1, 2.5, "x", b"y", None, True, 2j],
        {"a": {1, 2}, "b": frozenset({3}), "c": range(4)},
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), timedelta(1), UUID(int=5), tmp_path),
        Objective.EDP,
        Mine(6),
    ):
        write_pickle(path, item)
        assert read_pickle(path, type(item)) == item
    for array in (np.arange(6).reshape(2, 3).T[::2], np.array(["a", "bc"])):
        write_pickle(path, array)
        assert np.array_equal(read_pickle(path, np.ndarray), array)
    write_pickle(path, np.float32(7.5))
    assert read_pickle(path, np.float32) == 7.5


def test_members_that_older_pythons_name_by_getattr_come_back(tmp_path: Path) -> None:
    path = tmp_path / "out.pickle"
    path.write_bytes(pickle.dumps(Acts(getattr, Objective, "EDP")))
    assert read_pickle(path, Objective) is Objective.EDP
    path.write_bytes(pickle.dumps(Acts(getattr, Objective, "mro")))
    with pytest.raises(InputError, match="not a pickle"):
        read_pickle(path, Objective)


def test_a_dump_holds_every_item_and_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "dump"
    dumping = LomaStage() >> each(CostModelStage() >> DumpStage[EvaluationBatch](folder=folder))
    stream = dumping(SPATIAL)
    assert not folder.exists()
    next(stream)
    assert [x.name for x in folder.iterdir()] == ["000000.pickle"]
    assert all(map(same, LoadStage(EvaluationBatch)(folder), evaluations()))
    list(stream)
    written = len(evaluations())
    assert [int(x.stem) for x in dumped(folder)] == list(range(written))
    list(dumping(SPATIAL))
    loaded = list(LoadStage(EvaluationBatch)(folder))
    assert len(loaded) == 2 * written
    assert all(map(same, loaded, evaluations() * 2))


def test_a_pipeline_continues_from_a_dump(tmp_path: Path) -> None:
    list((ORDERS >> each(DumpStage[EvaluationBatch](folder=tmp_path)))(SPATIAL))
    assert same((LoadStage(EvaluationBatch) >> MinimalEnergyStage())(tmp_path), SUM)
    ranking = KBestStage(objective=Objective.EDP, k=3)
    continued = (LoadStage(EvaluationBatch) >> ranking)(tmp_path)
    assert all(map(same, continued.rows, (ORDERS >> ranking)(SPATIAL).rows))


def test_items_are_loaded_one_at_a_time(tmp_path: Path) -> None:
    for number in range(3):
        dump(tmp_path, number)
    stream = LoadStage(int)(tmp_path)
    assert next(stream) == 0
    (tmp_path / "000002.pickle").write_bytes(b"")
    assert next(stream) == 1
    with pytest.raises(InputError, match=r"000002\.pickle"):
        next(stream)


def test_numbers_go_on_where_they_ended(tmp_path: Path) -> None:
    (tmp_path / "999999.pickle").write_bytes(pickle.dumps("last"))
    (tmp_path / "notes.txt").write_text("no dump")
    assert dump(tmp_path, "next").name == "1000000.pickle"
    assert list(LoadStage(str)(tmp_path)) == ["last", "next"]


def test_a_part_that_was_left_behind_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "000000.pickle.part").write_bytes(b"half")
    assert dump(tmp_path, 1).name == "000001.pickle"
    assert list(LoadStage(int)(tmp_path)) == [1]


def test_several_threads_write_into_one_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(dump, [tmp_path] * 40, range(40)))
    assert len(set(paths)) == 40
    assert sorted(LoadStage(int)(tmp_path)) == list(range(40))
    assert not list(tmp_path.glob("*.part"))


def test_a_folder_without_dumps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        LoadStage(int)(tmp_path / "missing")
    assert list(LoadStage(int)(tmp_path)) == []
    (tmp_path / "mine.pickle").write_bytes(b"")
    with pytest.raises(InputError, match="a name that is not a number"):
        LoadStage(int)(tmp_path)
    with pytest.raises(InputError, match="a name that is not a number"):
        dump(tmp_path, 1)


def test_stages_show_where_they_write() -> None:
    save = PickleSaveStage[int](path=Path("out.pickle"))
    assert PickleSaveStage[int].model_validate_json(describe(save)[0].options) == save
    store = DumpStage[int](folder=Path("dump"))
    assert DumpStage[int].model_validate_json(describe(store)[0].options) == store
