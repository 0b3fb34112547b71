"""The version of what the cost model computes."""

from typing import Final

VERSION: Final = 2
"""Goes up with every change after which some mapping costs something else.

What a store knows of another version is not reused. ``tests/costmodel/test_version.py`` fails where
figures change and this does not.
"""
