"""Kernels are cached where that is possible and safe, and compiled where it is not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]

COMPILE = """
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel.jit import is_compiled
print(is_compiled(distinct_values))
assert distinct_values(4.0, 1.0, 1, 1) == 4
is_compiled.__globals__["choose_folder"].cache_clear()
print(is_compiled(distinct_values))
"""

NO_TEMPORARY = """
import os, tempfile
os.environ["TMPDIR"] = "/dev/null/temporary"
tempfile._candidate_tempdir_list = list
"""

NO_HOME = """
from pathlib import Path
def nowhere():
    raise RuntimeError("Could not determine home directory.")
Path.home = nowhere
"""

CACHED = Path(".cache", "nestmap", "kernels")


class Output(NamedTuple):
    """What a program prints: whether the kernel was compiled before and after; the error output."""

    compiled: list[str]
    errors: list[str]


class Places(NamedTuple):
    """A home that may be missing, and an empty temporary folder."""

    home: Path
    temporary: Path

    @property
    def fallback(self) -> Path:
        """Where kernels are cached if not at home."""
        return self.temporary / f"nestmap-kernels-{os.getuid()}"

    def run(self, program: str = COMPILE) -> Output:
        """Runs a program with this home."""
        paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        settings = {"PYTHONPATH": paths, "HOME": str(self.home), "TMPDIR": str(self.temporary)}
        unset = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        command = [sys.executable, "-c", program]
        ended = subprocess.run(
            command, env=kept | settings, capture_output=True, text=True, check=True
        )
        return Output(ended.stdout.split(), ended.stderr.splitlines())


def places_in(folder: Path) -> Places:
    """A home that can be written."""
    home, temporary = folder / "home", folder / "temporary"
    home.mkdir(mode=0o700)
    temporary.mkdir(mode=0o700)
    return Places(home, temporary)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A home that can be written."""
    return places_in(tmp_path)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a home in which the kernel is cached."""
    places = places_in(tmp_path_factory.mktemp("cached"))
    places.run()
    return places.home / CACHED


@pytest.fixture
def no_home(places: Places) -> Places:
    """A home that nobody can create, not even root."""
    return places._replace(home=Path("/dev/null/home"))


def test_kernels_are_cached_at_home_without_a_word(places: Places) -> None:
    assert places.run() == Output(["False", "True"], [])
    assert places.run() == Output(["True", "True"], [])
    assert not places.fallback.exists()


def test_without_a_home_they_are_in_a_temporary_folder_which_one_line_says(no_home: Places) -> None:
    first = no_home.run()
    assert first.compiled == ["False", "True"]
    assert first.errors == [
        "nestmap: cannot write /dev/null/home/.cache/nestmap/kernels (Not a directory); "
        f"compiled kernels are cached in {no_home.fallback}"
    ]
    assert no_home.fallback.stat().st_mode & 0o777 == 0o700
    assert no_home.run().compiled == ["True", "True"]


def test_a_user_without_a_home_folder_has_a_temporary_one(places: Places) -> None:
    output = places.run(NO_HOME + COMPILE)
    assert output.compiled == ["False", "True"]
    assert output.errors == [
        "nestmap: cannot write the home folder (there is none); compiled kernels are cached in "
        f"{places.fallback}"
    ]


def test_where_nothing_can_be_written_kernels_are_compiled_each_time(no_home: Places) -> None:
    # the folder of the source is not taken, as Numba would: a kernel that is cached there is not
    # compiled again if only an inner kernel changes
    folder = ROOT / "costmodel" / "__pycache__"
    before = set(folder.glob("*.nb?"))
    output = no_home.run(NO_TEMPORARY + COMPILE)
    assert output.compiled == ["False", "False"]
    (line,) = output.errors
    assert line.endswith("(Not a directory); compiled kernels are not cached")
    assert set(folder.glob("*.nb?")) == before


@pytest.mark.parametrize("opened", ["", ".cache", ".cache/nestmap", ".cache/nestmap/kernels"])
def test_a_folder_that_others_may_write_is_not_used(
    places: Places, kernels: Path, opened: str
) -> None:
    """Else machine code that another account has put there would be run."""
    shutil.copytree(kernels, places.home / CACHED)
    (places.home / opened).chmod(0o777)
    output = places.run()
    assert output.compiled == ["False", "True"]
    (line,) = output.errors
    assert line.startswith(f"nestmap: cannot write {places.home / CACHED} (it is open to other")
    assert line.endswith(f"compiled kernels are cached in {places.fallback}")


def test_a_temporary_folder_that_is_a_link_is_not_used(no_home: Places, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    no_home.fallback.symlink_to(elsewhere)
    assert no_home.run().compiled == ["False", "False"]
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("left", [0, 100])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.stress
def test_a_file_that_broke_off_is_compiled_again(
    places: Places, kernels: Path, left: int, suffix: str
) -> None:
    shutil.copytree(kernels, places.home / CACHED)
    files = list(places.home.rglob(f"*.{suffix}"))
    assert files
    for file in files:
        os.truncate(file, left)
    assert places.run().errors == []


def test_a_change_of_a_source_gives_another_folder(tmp_path: Path) -> None:
    """Numba would not see that a kernel which another one calls has changed."""
    places = places_in(tmp_path)
    source = tmp_path / "src" / "nestmap"
    shutil.copytree(ROOT / "src" / "nestmap", source, ignore=shutil.ignore_patterns("__pycache__"))
    program = f"import sys; sys.path.insert(0, {str(source.parent)!r})\n{COMPILE}"
    assert places.run(program).compiled == ["False", "True"]
    assert places.run(program).compiled == ["True", "True"]
    with (source / "costmodel" / "energy.py").open("a") as file:
        file.write("\n# changed\n")
    assert places.run(program).compiled == ["False", "True"]
