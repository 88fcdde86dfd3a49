"""How the record begins to say why a contestant was not deployed, where pages have words of their own for it."""

from __future__ import annotations

__all__ = ["NO_ENGINE"]

NO_ENGINE = "docker: no engine answers"
