"""Says where ports are busy for longer than layers take."""

from __future__ import annotations

from nestmap.model import NetworkEvaluation
from nestmap.pipeline.format.numbers import count, printable, share


def overload_note(evaluation: NetworkEvaluation) -> str:
    """In how many layers loads overlap on a port, and the worst one; empty if there are none."""
    found = [
        ((port.busy or 0) / result.cme.latency, result.cme.layer, port)
        for result in evaluation.layers
        if (port := result.cme.overloaded_port) is not None
    ]
    if not found:
        return ""
    load, layer, port = max(found, key=lambda x: x[0])
    return (
        f"{count(len(found))} of {count(len(evaluation.layers))} layers take fewer cycles than a "
        f"port of theirs is busy: {printable(layer)}, where the {printable(port.port)} of "
        f"{printable(port.memory)} is busy for {share(load - 1)} more, above all. Loads overlap "
        "there, as the reference counts; without --reference they wait."
    )
