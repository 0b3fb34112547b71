"""Numbers as people read them; models show theirs with the same functions."""

from nestmap.model.figures import capacity, count, cycles, energy, engineering, share

__all__ = ["capacity", "count", "cycles", "energy", "engineering", "share"]
