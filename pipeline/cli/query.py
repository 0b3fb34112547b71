"""``nestmap query``: a question to past explorations."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from nestmap.pipeline.cli.output import show, show_text
from nestmap.pipeline.report.answer import answer_csv, answer_json, answer_table
from nestmap.store import Store


def run_query(sql: str, path: Path, layout: Literal["table", "csv", "json"]) -> None:
    """Asks the store and prints the answer.

    Raises:
        StoreError: where there is no store, or the question is not valid.
    """
    with Store.open_read_only(path) as store:
        answer = store.query(sql)
    match layout:
        case "table":
            show(answer_table(answer))
        case "csv":
            show_text(answer_csv(answer))
        case "json":
            show_text(answer_json(answer))
