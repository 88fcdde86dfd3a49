"""The Gap Book: published database speed gaps, re-measured, audited and taken apart into factors.

What notebooks use:

    Chapter     one chapter: its parameters checked, its contestants, its run
    Factor      one difference between two contestants, for a decomposition
    claim       a published claim from the register
"""

from gapbook.chapter import Chapter
from gapbook.claims.claim import claim
from gapbook.method.factors import Factor

__all__ = ["Chapter", "Factor", "claim"]
