"""Histograms of latency as clients report them."""

from __future__ import annotations

import struct
import zlib

from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

from gapbook.errors import ClientError

__all__ = ["decode_histogram"]


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
