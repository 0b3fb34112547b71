"""Stages that write what passes through them to files, and the one that reads it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, final

from nestmap.model import Frozen, NetworkEvaluation
from nestmap.pipeline.render.json.results import full_json, summary_json
from nestmap.pipeline.stage import Stage
from nestmap.pipeline.util.json import write_json
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
    """Writes the total and each layer's whole evaluation: mappings, accesses, energies, latencies.

    As JSON.

    Raises:
        InputError: where the file cannot be written.
    """

    path: Path

    def __call__(self, evaluation: NetworkEvaluation, /) -> NetworkEvaluation:
        write_json(self.path, full_json(evaluation))
        return evaluation


class PickleSaveStage(Frozen, Stage[A, A], Generic[A], frozen=True):
    """Writes what passes to a pickle file.

    :func:`~nestmap.pipeline.util.pickle_files.read_pickle` reads it.

    ``PickleSaveStage[NetworkEvaluation](path=...)``: any item of a pipeline but a stream, which
    ``ListifyStage`` makes an item of. Folders that are missing are made.

    Raises:
        InputError: where the file cannot be written.
    """

    path: Path

    def __call__(self, item: A, /) -> A:
        write_pickle(self.path, item)
        return item


class DumpStage(Frozen, Stage[A, A], Generic[A], frozen=True):
    """Writes each item that passes to a file of its own: ``000000.pickle``, ``000001.pickle``, ...

    In ``each(DumpStage(folder=...))`` that is every item of a stream. Numbers go on where the
    folder's last file ended. :class:`LoadStage` continues from there.

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
    """The items that a :class:`DumpStage` has written to a folder, all of class ``kind``.

    ``LoadStage(EvaluationBatch) >> MinimalEnergyStage()`` reduces what was evaluated before.
    Pickles can run code: load only what you or people you trust have dumped.

    Raises:
        InputError: where there is no such folder, or a file in it holds something else.
    """

    kind: type[A]

    def __call__(self, folder: Path, /) -> Iterator[A]:
        return load(folder, self.kind)
