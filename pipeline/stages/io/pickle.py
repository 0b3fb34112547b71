"""Stages that save items to files, and the stage that loads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, final

from nestmap.model import Frozen, NetworkEvaluation
from nestmap.pipeline.render.json.results import full_json, summary_json
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.util.atomic_files import write_json
from nestmap.pipeline.util.pickle_files import dump, load, write_pickle

A = TypeVar("A")


class SimpleSaveStage(Frozen, Stage[NetworkEvaluation, NetworkEvaluation], frozen=True):
    """Writes the total and each layer's energy (pJ) and latency (cycles) as JSON.

    Raises:
        InputError: where the file cannot be written.
    """

    path: Path

    def __call__(self, evaluation: NetworkEvaluation, /) -> NetworkEvaluation:
        write_json(self.path, summary_json(evaluation))
        return evaluation


class CompleteSaveStage(Frozen, Stage[NetworkEvaluation, NetworkEvaluation], frozen=True):
    """Writes the total and each layer's full evaluation as JSON.

    An evaluation includes mapping, accesses, energies and latencies.

    Raises:
        InputError: where the file cannot be written.
    """

    path: Path

    def __call__(self, evaluation: NetworkEvaluation, /) -> NetworkEvaluation:
        write_json(self.path, full_json(evaluation))
        return evaluation


class PickleSaveStage(Frozen, Stage[A, A], Generic[A], frozen=True):
    """Writes an item to a pickle file and passes the item on.

    :func:`~nestmap.pipeline.util.pickle_files.read_pickle` reads the file.

    ``PickleSaveStage[NetworkEvaluation](path=...)`` writes any item except a stream, which
    ``ListifyStage`` turns into an item. Missing folders are created.

    Raises:
        InputError: where the file cannot be written.
    """

    path: Path

    def __call__(self, item: A, /) -> A:
        write_pickle(self.path, item)
        return item


class DumpStage(Frozen, Stage[A, A], Generic[A], frozen=True):
    """Writes each item to its own file: ``000000.pickle``, ``000001.pickle``, ...

    ``each(DumpStage(folder=...))`` writes every item of a stream. Numbering continues after the
    folder's last file. :class:`LoadStage` reads the files.

    Raises:
        InputError: where the folder cannot be written to.
    """

    folder: Path

    def __call__(self, item: A, /) -> A:
        dump(self.folder, item)
        return item


@final
@dataclass(frozen=True, slots=True)
class LoadStage(Stage[Path, Iterator[A]], Generic[A]):
    """Loads the items that a :class:`DumpStage` wrote to a folder, all of class ``kind``.

    ``LoadStage(EvaluationBatch) >> MinimalEnergyStage()`` reduces earlier evaluations.
    Pickles can run any program. Files that are not ``trusted`` may only hold built-in values,
    arrays, nestmap's models, and objects of ``kind``.

    Raises:
        InputError: where there is no such folder, or a file in it holds something else.
    """

    kind: type[A]
    trusted: bool = False

    def __call__(self, folder: Path, /) -> Iterator[A]:
        return load(folder, self.kind, trusted=self.trusted)
