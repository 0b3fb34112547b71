"""Loop orderings and cuts of mappings as codes packed into 64-bit words."""

import numpy as np
import numpy.typing as npt

from nestmap.model import SpatialProblem

Codes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

_LEAST = 4
_WORD = 64


def code_bits(spatial: SpatialProblem) -> int:
    """Bits per code in a search; the highest number of that many bits is never a code.

    There are at most as many loops as prime factors if all were 2, and at most as many distinct
    loops as those of a coarse and a fine search together.
    """
    loops = sum(size.bit_length() - 1 for size in spatial.temporal_sizes.values())
    return max(_LEAST, (2 * loops + 2).bit_length())


def pack(codes: Codes, bits: int) -> Words:
    """Rows of codes as rows of words, the first code in the lowest bits.

    The last word is padded with the highest number, which is no code.

    Raises:
        ValueError: if a code does not fit.
    """
    rows, length = codes.shape
    filler = (1 << bits) - 1
    if codes.size and int(codes.max()) >= filler:
        raise ValueError(f"code {codes.max()} does not fit {bits} bits; expected below {filler}")
    each = _WORD // bits
    count = -(-length // each)
    words = np.zeros((rows, count), np.uint64)
    for place in range(count * each):
        values = codes[:, place].astype(np.uint64) if place < length else np.uint64(filler)
        words[:, place // each] |= values << np.uint64(bits * (place % each))
    return words


def unpack(words: Words, bits: int) -> Codes:
    """The codes of each row, followed by the padding."""
    each = _WORD // bits
    codes = np.empty((len(words), words.shape[1] * each), np.uint8)
    for place in range(codes.shape[1]):
        shifted = words[:, place // each] >> np.uint64(bits * (place % each))
        codes[:, place] = shifted & np.uint64((1 << bits) - 1)
    return codes


def code_counts(codes: Codes, bits: int) -> npt.NDArray[np.intp]:
    """The number of codes of each row, without padding."""
    real: npt.NDArray[np.intp] = np.count_nonzero(codes != (1 << bits) - 1, axis=1)
    return real
