"""The generated part of docs/operators.md.

``python -m tests.pipeline.frontend.onnx.operators_page`` writes it anew.
"""

from collections.abc import Iterable
from pathlib import Path

from nestmap.pipeline.frontend.onnx.operators.record import Layers, Movement, Vector
from nestmap.pipeline.frontend.onnx.operators.registry import operators_that_become

PAGE = Path(__file__).parents[4] / "docs" / "operators.md"
MARKER = "<!-- from here on written by tests/pipeline/frontend/onnx/operators_page.py -->\n"


def operators_page() -> str:
    """Which operators are layers, vector operators and data movement, as Markdown."""
    return "\n".join(
        (
            _section("Layers: computed by the array", operators_that_become(Layers)),
            _section("Vector operators", operators_that_become(Vector)),
            _section("Data movement", operators_that_become(Movement)),
        )
    )


def _section(title: str, operators: Iterable[str]) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(operators, key=_order))
    return f"## {title}\n\n{names}\n"


def _order(name: str) -> tuple[bool, str]:
    """Those of the standard first."""
    return "." in name, name


def write() -> None:
    """Writes the generated part anew."""
    written, marker, _ = PAGE.read_text(encoding="utf-8").partition(MARKER)
    PAGE.write_text(f"{written}{marker}\n{operators_page()}", encoding="utf-8")


if __name__ == "__main__":
    write()
