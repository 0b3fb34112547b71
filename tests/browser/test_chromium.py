"""The script that installs a browser: quiet where there is one, harmless where it cannot."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

SCRIPT: Final = Path(__file__).parents[2] / ".ci" / "chromium.sh"
NEEDED: Final = ("bash", "env", "id")


def run_with(folder: Path, programs: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Runs it where there are just these programs."""
    for name in programs:
        found = shutil.which(name)
        (folder / name).symlink_to(found or "/bin/false")
    return subprocess.run(
        [folder / "bash", SCRIPT],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )


def test_it_does_nothing_where_there_is_a_browser(tmp_path: Path) -> None:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).symlink_to("/bin/false")  # which would fail
        ended = run_with(folder, NEEDED)
        assert (ended.stdout, ended.stderr) == ("", "")


def test_it_says_in_one_line_that_it_cannot_install_one(tmp_path: Path) -> None:
    ended = run_with(tmp_path, NEEDED)  # no apt-get
    assert ended.stderr == ""
    assert len(ended.stdout.splitlines()) == 1
    assert "skipped" in ended.stdout


def test_it_does_not_fail_where_installing_does(tmp_path: Path) -> None:
    (tmp_path / "apt-get").symlink_to("/bin/false")
    (tmp_path / "sudo").symlink_to("/bin/false")
    ended = run_with(tmp_path, NEEDED)
    assert len(ended.stdout.splitlines()) == 1
