"""What people type to find a headline, and the claim that must come first: for the page and for the command."""

from __future__ import annotations

__all__ = ["TYPED"]

TYPED = {
    "316": "today-note-ratio-postgres-alpha15",
    "70x": "trailbase-insert-vs-payload",
    "payload": "trailbase-insert-vs-payload",
    "12 MB": "walsync-memory-walsync-20db",
    "47x": "convex-headline-47x",
    "14x": "keynote-headline-14x",
}
