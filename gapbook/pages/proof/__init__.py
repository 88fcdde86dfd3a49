"""What proves a chapter: everything that its run recorded of how its numbers came to be."""

from gapbook.pages.proof.page import Proof, Section, proof

__all__ = ["Proof", "Section", "proof"]
