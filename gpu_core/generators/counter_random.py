"""Random words without a state: word ``i`` of a stream is a hash of (seed, stream, i).

The hash is the output function of SplitMix64 (an odd multiple of the counter, then two rounds of
xor-shift and multiply), whose counter form passes the usual batteries. Words of different streams
are independent for all that generators need: a stream has its own start, itself a hash.

Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)

#: 2**-53: turns the upper 53 bits of a word into a float in [0, 1).
_UNIT = 2.0**-53


def _mixed(words: Words) -> Words:
    """SplitMix64's output function, in place; `words` belong to the caller."""
    words ^= words >> np.uint64(30)
    words *= _MULTIPLY_1
    words ^= words >> np.uint64(27)
    words *= _MULTIPLY_2
    words ^= words >> np.uint64(31)
    return words


def stream_start(seed: int, stream: int) -> np.uint64:
    """Start of the counter of one stream."""
    beyond = seed >> 64
    if beyond not in (0, -1):
        # The bits that do not fit are mixed in, so that each seed is one of its own.
        seed = seed % 2**64 ^ int(stream_start(beyond, stream))
    start = np.array([(seed * 0x632BE59BD9B4E019 + stream) & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    return np.uint64(_mixed(_mixed(start + _GOLDEN) + _GOLDEN)[0])


def random_words(seed: int, stream: int, numbers: Words) -> Words:
    """Draw 64 random bits for each number.

    Parameters
    ----------
    seed, stream
        Any integers; the same pair gives the same words.
    numbers : uint64[n]
        Counters, in any order; a number has the same word wherever it stands.

    Returns
    -------
    words : uint64[n]
    """
    words = (numbers + np.uint64(1)) * _GOLDEN
    words += stream_start(seed, stream)
    return _mixed(words)


def below(words32: Words, limit: npt.NDArray[np.uint64] | int) -> Words:
    """Map 32 random bits to ``0 … limit - 1`` by multiplication.

    ``limit`` is at most 2**32; no value is likelier than another by more than ``limit / 2**32``.
    """
    return (words32 * np.asarray(limit, dtype=np.uint64)) >> np.uint64(32)


def upper_half(words: Words) -> Words:
    """The upper 32 bits of each word."""
    return words >> np.uint64(32)


def lower_half(words: Words) -> Words:
    """The lower 32 bits of each word."""
    return words & _LOW_32


def unit_floats(words: Words) -> npt.NDArray[np.float64]:
    """Map each word to a float in [0, 1)."""
    return (words >> np.uint64(11)).astype(np.float64) * _UNIT
