"""The record of the disk test that is run before each session (:mod:`gapbook.deploy.fsync_test`)."""

from __future__ import annotations

import msgspec

from gapbook.record.fields import Amount, Positive

__all__ = ["FsyncTest"]


class FsyncTest(msgspec.Struct, frozen=True):
    """Blocks overwritten in a file on the servers' disk, each synced before the next; times are seconds a write."""

    writes: Positive
    block_bytes: Positive
    median_s: Amount
    p99_s: Amount
    rate_per_s: Amount
