"""The version of the cost model."""

from typing import Final

VERSION: Final = 7
"""Increased with every change after which some mapping has a different cost.

Results that a store has of another version are not reused. ``tests/costmodel/test_version.py``
fails if figures change and this number does not.
"""
