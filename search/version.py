"""The version of what the searches look at."""

from typing import Final

VERSION: Final = 1
"""Goes up with every change after which a search looks at other mappings, or in another order.

What a store knows of another version is not reused. ``tests/search/test_version.py`` fails where
searches find something else and this does not go up.
"""
