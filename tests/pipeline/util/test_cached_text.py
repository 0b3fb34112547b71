from pathlib import Path

import pytest

from nestmap.pipeline.render.charts.vega_bundle import cached_text


def never() -> str:
    raise AssertionError("it is made again")


def test_a_text_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    assert cached_text("a.js", lambda: "gr\u00fcn\r\n") == "gr\u00fcn\r\n"
    assert cached_text("a.js", never) == "gr\u00fcn\r\n"
    assert cached_text("b.js", lambda: "other") == "other"
    assert {x.name for x in (tmp_path / "new" / "nestmap").iterdir()} == {"a.js", "b.js"}


def test_a_broken_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "nestmap").mkdir()
    (tmp_path / "nestmap" / "a.js").write_bytes(b"\xff\xfe")
    assert cached_text("a.js", lambda: "made") == "made"
    assert cached_text("a.js", never) == "made"


@pytest.mark.parametrize("name", ["file/below", "/dev/null/x"])
def test_where_nothing_can_be_written_it_is_made_each_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    made = iter(("first", "second"))
    assert cached_text("a.js", made.__next__) == "first"
    assert cached_text("a.js", made.__next__) == "second"


def test_without_a_home_it_is_made_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert cached_text("a.js", lambda: "made") == "made"
