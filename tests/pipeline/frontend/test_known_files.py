"""ONNX files that were read before are known again, and whatever has changed is read anew."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from zlib import compress, decompress

import numpy as np
import pytest
from onnx import numpy_helper

from nestmap.model import InputError, InputWarning
from nestmap.pipeline.frontend.bundled import light_names
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx_process import client, known_files
from nestmap.pipeline.frontend.onnx_process.child_process import Frame, exchange
from nestmap.pipeline.frontend.onnx_process.client import read_onnx
from nestmap.pipeline.frontend.onnx_process.known_files import reader_digest, reader_sources
from nestmap.pipeline.frontend.onnx_process.messages import OnnxAnswer, OnnxRequest
from nestmap.pipeline.frontend.read.workload import read_workload
from tests.pipeline.frontend.onnx.build import model, node, weights

DIMS = {"N": 2}


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of known files, which does not exist."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "nestmap" / "networks"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    write(path, 4)
    return path


def write(path: Path, columns: int) -> None:
    made = model([node("MatMul", "x w", "y")], {"x": ("N", 8)}, [weights("w", 8, columns)])
    path.write_bytes(made.SerializeToString())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that the reading process is asked for."""
    asked: list[str] = []
    ask = client.OnnxProcess.ask

    def noted(self: client.OnnxProcess, request: OnnxRequest) -> object:
        asked.append(request.where)
        return ask(self, request)

    monkeypatch.setattr(client.OnnxProcess, "ask", noted)
    return asked


def test_a_file_is_read_once(caches: Path, file: Path, reads: list[str]) -> None:
    first = read_onnx(file, DIMS)
    again = read_onnx(file, DIMS)
    assert reads == [str(file)]
    assert again == first == parse_onnx(file, dims=DIMS)
    assert again.model_dump_json() == first.model_dump_json()
    assert len(list(caches.rglob("*.z"))) == 1


def test_a_copy_with_the_same_name_is_known(caches: Path, file: Path, reads: list[str]) -> None:
    (folder := file.parent / "other").mkdir()
    copied = Path(shutil.copy(file, folder))
    assert read_onnx(copied, DIMS) == read_onnx(file, DIMS)
    assert reads == [str(copied)]


def test_what_differs_is_read_anew(caches: Path, file: Path, reads: list[str]) -> None:
    read_onnx(file, DIMS)
    renamed = Path(shutil.copy(file, file.with_name("renamed.onnx")))
    assert read_onnx(file, {"N": 3}).macs == 3 * 8 * 4
    assert read_onnx(file, DIMS, 16) != read_onnx(file, DIMS)
    assert read_onnx(renamed, DIMS).name == "renamed"
    write(file, 5)
    assert read_onnx(file, DIMS).macs == 2 * 8 * 5
    assert len(reads) == 5


def test_a_content_of_the_same_size_and_time_is_read_anew(
    caches: Path, file: Path, reads: list[str]
) -> None:
    read_onnx(file, DIMS)
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b"x", b"z"))  # the same file on the disk
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    read_onnx(file, DIMS)
    assert len(reads) == 2


def test_another_reader_reads_anew(
    caches: Path, file: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_onnx(file, DIMS)
    monkeypatch.setattr(known_files, "reader_digest", lambda: b"newer")
    read_onnx(file, DIMS)
    assert len(reads) == 2


def forge_fifo(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


def forge_network(place: Path) -> None:
    saved = place.read_bytes()
    text = decompress(saved[32:])
    assert b'"size":4' in text
    place.write_bytes(saved[:32] + compress(text.replace(b'"size":4', b'"size":7')))


@pytest.mark.parametrize("forge", [forge_fifo, forge_network])
def test_what_somebody_has_put_there_is_read_anew(
    caches: Path, file: Path, reads: list[str], forge: Callable[[Path], None]
) -> None:
    before = read_onnx(file, DIMS)
    (place,) = caches.rglob("*.z")
    forge(place)
    assert read_onnx(file, DIMS) == before
    assert len(reads) == 2
    assert read_onnx(file, DIMS) == before
    assert len(reads) == 2  # mended


def test_what_is_too_large_is_neither_saved_nor_unpacked(
    caches: Path, file: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_onnx(file, DIMS)
    (place,) = caches.rglob("*.z")
    most = len(before.model_dump_json()) - 1
    assert place.stat().st_size < most
    monkeypatch.setattr(known_files, "_LARGEST", most)
    assert read_onnx(file, DIMS) == before
    place.unlink()
    assert read_onnx(file, DIMS) == before
    assert len(reads) == 3
    assert not place.exists()


IMPORTED = """
import sys
import nestmap.pipeline.frontend.onnx.parse
print(*(x.__file__ for name, x in sys.modules.items() if name.startswith("nestmap.")), sep="\\n")
"""


def test_another_source_that_reading_imports_is_another_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    imported = {Path(x).resolve() for x in ran.stdout.splitlines()}
    sources = {x.resolve() for x in reader_sources()}
    only_names_and_bytes = {"__init__.py", "onnx_bytes.py", "bounded_files.py"}
    assert {x.name for x in imported - sources} <= only_names_and_bytes
    assert len(imported & sources) > 50
    before = reader_digest()
    reader_digest.cache_clear()
    monkeypatch.setattr(known_files, "reader_sources", lambda: [*sources, Path(__file__)])
    assert reader_digest() != before
    reader_digest.cache_clear()


def test_bundled_networks_need_no_onnx_when_they_are_known(
    caches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_workload("light:squeezenet")
    monkeypatch.setattr("nestmap.pipeline.frontend.onnx.parse_onnx", None)
    assert read_workload("light:squeezenet") == first


@pytest.mark.parametrize("name", light_names())
def test_bundled_networks_are_the_same_when_they_are_known(caches: Path, name: str) -> None:
    read, recalled = read_workload(name), read_workload(name)  # a warning would be an error here
    assert recalled == read
    assert recalled.content_hash == read.content_hash
    assert len(list(caches.rglob("*.z"))) == 1


def test_errors_are_not_kept(caches: Path, file: Path, reads: list[str]) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="symbolic dimension"):
            read_onnx(file)
    assert len(reads) == 2
    assert not caches.exists()


def test_warnings_are_said_each_time(
    caches: Path, file: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warned(process: Popen[bytes], request: Frame | None, seconds: float) -> Frame:
        frame = exchange(process, request, seconds)
        if not frame.body:
            return frame
        said = (InputWarning.__module__, InputWarning.__qualname__, "careful")
        return frame._replace(head=OnnxAnswer([said]).to_json())

    monkeypatch.setattr(client, "exchange", warned)
    for _ in range(2):
        with pytest.warns(InputWarning, match="careful"):
            read_onnx(file, DIMS)
    assert len(reads) == 2


def test_measured_densities_are_another_question(
    caches: Path, tmp_path: Path, reads: list[str]
) -> None:
    stored = numpy_helper.from_array(np.eye(8, 4, dtype=np.float32), "w")
    path = tmp_path / "net.onnx"
    source = model([node("MatMul", "x w", "y")], {"x": (2, 8)}, [stored])
    path.write_bytes(source.SerializeToString())
    for _ in range(2):
        assert read_onnx(path, measures_density=True) != read_onnx(path)
    assert len(reads) == 2


@pytest.mark.parametrize("content", [b"", b"broken", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_cache_is_replaced(
    caches: Path, file: Path, reads: list[str], content: bytes
) -> None:
    expected = read_onnx(file, DIMS)
    (place,) = caches.rglob("*.z")
    good = place.read_bytes()
    place.write_bytes(content or good[:-1])
    assert read_onnx(file, DIMS) == expected
    assert place.read_bytes() == good
    assert len(reads) == 2


@pytest.mark.parametrize("place", ["file/below", "/dev/null/x"])
def test_files_are_read_where_nothing_can_be_cached(
    place: str, file: Path, reads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place))
    for _ in range(2):
        assert read_onnx(file, DIMS).macs == 2 * 8 * 4
    assert len(reads) == 2


def test_files_are_read_without_a_home(
    file: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_files, "user_caches", lambda: None)
    for _ in range(2):
        read_onnx(file, DIMS)
    assert len(reads) == 2


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    caches: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = client.OnnxProcess.ask

    def changing(self: client.OnnxProcess, request: OnnxRequest) -> object:
        before = file.stat()
        write(file, 5)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        return ask(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(client.OnnxProcess, "ask", changing)
        assert read_onnx(file, DIMS).macs == 2 * 8 * 5
    write(file, 4)
    assert read_onnx(file, DIMS).macs == 2 * 8 * 4


def test_files_read_long_ago_are_forgotten(
    caches: Path, tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_files, "MOST_KNOWN", 2)
    paths = [tmp_path / f"{columns}.onnx" for columns in (1, 2, 3)]
    for columns, path in enumerate(paths, 1):
        write(path, columns)
    for path in (paths[0], paths[1], paths[0], paths[2]):
        read_onnx(path, DIMS)
    assert len(list(caches.iterdir())) == 2
    for path in (paths[0], paths[2], paths[1]):
        read_onnx(path, DIMS)
    assert reads == [str(paths[k]) for k in (0, 1, 2, 1)]
