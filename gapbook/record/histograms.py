"""Histograms of latency as clients report them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

from gapbook.errors import ClientError

__all__ = ["added_histograms", "decode_histogram"]


def decode_histogram(encoded: str) -> HdrHistogram:
    """An HdrHistogram V2 (deflate, base64) as clients report it, values in ns; raises ClientError."""
    try:
        return HdrHistogram.decode(encoded)
    except (
        TypeError,
        ValueError,
        IndexError,
        OverflowError,
        struct.error,
        zlib.error,
        HdrCookieException,
        HdrLengthException,
    ) as error:
        raise ClientError(f"client: its report has a histogram that cannot be read ({error})") from error


def added_histograms(encoded: Sequence[str]) -> str:
    """Histograms as one that holds the values of all, to the last count; raises ClientError, also for such as count in
    other steps."""
    total = decode_histogram(encoded[0])
    steps = _steps(total)
    for text in encoded[1:]:
        other = decode_histogram(text)
        if _steps(other) != steps:
            raise ClientError(f"client: its histogram counts in steps of {_steps(other)}, another in {steps}")
        total.add(other)
    return str(total.encode().decode())


def _steps(histogram: HdrHistogram) -> tuple[int, int, int]:
    """The least and the most value in ns, and the significant digits."""
    return (
        histogram.lowest_trackable_value,
        histogram.highest_trackable_value,
        histogram.significant_figures,
    )
