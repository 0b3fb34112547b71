"""JSON files are there whole or not at all, and only where they may be."""

import json
import os
from pathlib import Path
from threading import Thread

import pytest

from nestmap.model import InputError
from nestmap.pipeline.util.atomic_files import Json, check_writable, write_json


def test_a_file_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    values: tuple[Json, ...] = (["long" * 100], [1])
    for value in values:
        check_writable(file)
        write_json(file, value)
        assert json.loads(file.read_text()) == value
    assert list(tmp_path.iterdir()) == [file]


def test_checking_leaves_everything_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    check_writable(file)
    assert not list(tmp_path.iterdir())
    file.write_text("old")
    check_writable(file)
    assert file.read_text() == "old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "out.json", tmp_path / "link.json"
    file.write_text("old")
    link.symlink_to(file)
    check_writable(link)
    write_json(link, [1])
    assert link.is_symlink()
    assert json.loads(file.read_text()) == [1]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    check_writable(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_json(pipe, {"a": 1})
    reader.join(60)
    assert json.loads(read[0]) == {"a": 1}
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", [".", "no/out.json", "file/out.json", "x" * 255])
def test_where_it_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected a file"):
        check_writable(tmp_path / name)
