"""The Python of the documents runs as it stands, each document from top to bottom."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nestmap import conv2d, explore, linear
from nestmap.model import Workload
from nestmap.store import Store

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", ["coming-from-zigzag.md", "explain.md", "pipelines.md"])
def test_its_python_runs(name: str, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)
    assert blocks
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """What a small network costs."""
    conv, fc = conv2d("conv", (1, 16, 14, 14), (32, 16, 3, 3)), linear("fc", (1, 4096), 1024)
    network = Workload.of(conv, fc, name="net")
    with Store.open(None) as store:
        explore(network, "tpu_like", lpf_limit=3, store=store)
        yield store


QUESTIONS = re.findall(r"```sql\n(.*?)```", (DOCS / "sql.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("question", QUESTIONS)
def test_its_questions_have_answers(store: Store, question: str) -> None:
    assert len(store.query(question)) > 0
