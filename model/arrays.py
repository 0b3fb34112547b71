"""The kinds of arrays: short names for NumPy arrays by the type of their elements."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

Rows = NDArray[np.intp]
"""Indices of rows."""

Codes = NDArray[np.uint8]
"""Loop orders and cuts, which are small numbers."""
