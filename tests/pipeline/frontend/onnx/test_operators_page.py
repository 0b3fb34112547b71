"""The page on operators names those that the parser knows."""

from tests.pipeline.frontend.onnx.operators_page import MARKER, PAGE, operators_page


def test_the_page_names_the_operators() -> None:
    """Where this fails: ``python -m tests.pipeline.frontend.onnx.operators_page``."""
    _, marker, shown = PAGE.read_text(encoding="utf-8").partition(MARKER)
    assert marker
    assert shown.strip() == operators_page().strip()
