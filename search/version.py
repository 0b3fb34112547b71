"""The version of the searches."""

from typing import Final

VERSION: Final = 19
"""Increased with every change after which a search considers other mappings, or in another order.
It is also increased when searches report something else, such as the lower bounds since 2, and
their work since 5. Since 6 equal spatial mappings are searched once, since 7 those that take much
work last. Since 8 a spatial mapping that nothing fits has no bound. Since 9 memories hold
full tiles, unless the reference counts. Since 10 the bound of a port's
busy cycles is that of the smallest tiles where tiles are clipped. Since 11 exact counting fills up
accesses. Since 12 the least energy of a spatial mapping is found in fewer labels, and
the bound of energy is lower where units share words of clipped tiles: since 13 only by what the
worst tiles need. Since 14 those spatial mappings that take much work are all searched with two
fifths of the labels first, also where only some are searched. Since 15 the first tile of level 1
and its shortest window raise the bound of the latency, and short descents below low limits come
before long searches. Since 16 paths to even mappings close memories.

Results that a store has of another version are not reused. ``tests/search/test_version.py`` fails
if searches find something else and this number is not increased.
"""
