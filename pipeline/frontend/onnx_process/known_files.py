"""The workloads of ONNX files that were read before, among the user's caches.

A file is known again by its content and its name, wherever it is, as long as the same sources
would read it: another version of nestmap or of the onnx library reads it anew.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import file_digest, sha256
from importlib.metadata import version
from pathlib import Path
from shutil import rmtree
from time import time_ns
from typing import Final, final
from zlib import compress, decompressobj
from zlib import error as ZlibError  # noqa: N812 (it is a class)

from nestmap.model import InputError, Workload
from nestmap.model.user_caches import source_files, user_caches
from nestmap.pipeline.frontend.onnx_process.messages import OnnxRequest
from nestmap.pipeline.util.atomic_files import is_special, replacing

MOST_KNOWN: Final = 100
"""The largest number of files that are known; those read longest ago are forgotten."""

_LARGEST: Final = 2**28
"""The largest workload that is saved, as text (bytes): a saved one is data of somebody."""

_DIGEST: Final = 32

_SOURCES: Final = ("model", "pipeline/frontend/onnx")


@final
@dataclass(frozen=True)
class KnownFile:
    """A file with a place among the caches, whether its workloads are there or not.

    Attributes:
        path: where it is.
        folder: where the workloads of its content are.
    """

    path: str
    folder: Path

    def recall(self, asked: OnnxRequest) -> Workload | None:
        """The workload that the file gave when this was asked; ``None`` if that is not known."""
        with suppress(OSError, ValueError, ZlibError):  # there is none, or it is damaged
            found = Workload.model_validate_json(_unpacked(self._place(asked)))
            with suppress(OSError):  # a cache that cannot be written can be read
                self._note_use()
            return found
        return None

    def remember(self, asked: OnnxRequest, workload: Workload) -> None:
        """Saves what the file gave, if the caches can be written and the file is still the same."""
        text = workload.model_dump_json().encode()
        if len(text) > _LARGEST:
            return
        if known_file(self.path) != self:  # times would not tell: they are those of clock ticks
            return
        with suppress(OSError, InputError):
            self.folder.mkdir(parents=True, exist_ok=True)
            place = self._place(asked)
            if is_special(place):  # it would be written to, which waits for a reader
                place.unlink()
            with replacing(place) as part:
                part.write_bytes(sha256(text).digest() + compress(text, 1))
            self._note_use()
            _forget_oldest(self.folder.parent)

    def _note_use(self) -> None:
        now = time_ns()  # the time that the system would set is that of a clock tick
        os.utime(self.folder, ns=(now, now))

    def _place(self, asked: OnnxRequest) -> Path:
        what = replace(asked, where="", file=None)  # wherever it is
        return self.folder / f"{sha256(what.to_json()).hexdigest()[:32]}.json.z"


def _unpacked(place: Path) -> bytes:
    """What was saved there, behind its digest.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is no ordinary file, too large, or not what was saved.
        ZlibError: if it is damaged.
    """
    if not place.is_file() or place.stat().st_size > _LARGEST:
        raise ValueError(place)
    saved = place.read_bytes()
    digest, unpacking = saved[:_DIGEST], decompressobj()
    text = unpacking.decompress(saved[_DIGEST:], _LARGEST)
    if not unpacking.eof or sha256(text).digest() != digest:
        raise ValueError(place)
    return text


def known_file(path: str) -> KnownFile | None:
    """The place of an ordinary file among the caches; ``None`` if it cannot be read or cached."""
    caches = user_caches()
    if caches is None:
        return None
    with suppress(OSError), open(path, "rb") as file:
        digest = sha256(reader_digest() + file_digest(file, "sha256").digest()).hexdigest()
        return KnownFile(path, caches / "networks" / digest[:32])
    return None


@lru_cache(maxsize=1)
def reader_digest() -> bytes:
    """A digest of what reads files: sources, and the libraries that they call.

    Raises:
        OSError: if the sources are not files.
    """
    digest = sha256("\n".join(version(x) for x in ("onnx", "numpy")).encode())
    for source in reader_sources():
        digest.update(source.read_bytes())
    return digest.digest()


def reader_sources() -> Iterator[Path]:
    """The files whose code determines what becomes of an ONNX file."""
    yield from source_files(*_SOURCES)


def _forget_oldest(networks: Path) -> None:
    known = sorted(networks.iterdir(), key=lambda x: x.stat().st_mtime_ns, reverse=True)
    for folder in known[MOST_KNOWN:]:
        rmtree(folder, ignore_errors=True)
