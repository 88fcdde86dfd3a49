"""Ceilings are measured once for a block, and what failed is tried again."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from gapbook.errors import ClientError
from gapbook.record.schema import CeilingOfBlock
from gapbook.trial.ceilings import Ceilings
from tests.unit.test_scenario import postgres, scenario


class _Maker:
    """Answers each question for a ceiling with what is next: a rate, None, or an error."""

    hosts = ()

    def __init__(self, *answers: float | ClientError | None) -> None:
        self.answers = list(answers)

    def ceilings(self, *_asked: object) -> Sequence[float | None]:
        answer = self.answers.pop(0)
        if isinstance(answer, ClientError):
            raise answer
        return [answer]


def _ceilings(*answers: float | ClientError | None) -> tuple[Ceilings, list[CeilingOfBlock], list[str]]:
    kept, said = list[CeilingOfBlock](), list[str]()
    nothing, maker = cast(Any, None), cast(Any, _Maker(*answers))
    made = Ceilings(scenario(postgres()), nothing, kept, keep=lambda: None, say=said.append, maker=maker)
    return made, kept, said


def _of(ceilings: Ceilings, block: int = 0) -> float | None:
    stack = cast(Any, SimpleNamespace(spoken=dict))
    return ceilings.of(postgres(), stack, block, 0.0).rate_per_s


def test_a_ceiling_is_measured_once_in_each_block() -> None:
    ceilings, kept, _ = _ceilings(100.0, 90.0)
    assert [_of(ceilings, block) for block in (0, 0, 1, 0)] == [100.0, 100.0, 90.0, 100.0]
    assert [row.rate_per_s for row in kept] == [100.0, 90.0]


def test_a_ceiling_that_failed_is_said_and_measured_again() -> None:
    ceilings, kept, said = _ceilings(ClientError("client gap-postgres: hung"), 100.0)
    assert _of(ceilings) is None
    assert kept == []
    assert [line.endswith(": client gap-postgres: hung") for line in said] == [True]
    assert [_of(ceilings), _of(ceilings)] == [100.0, 100.0]
    assert [row.rate_per_s for row in kept] == [100.0]


def test_where_no_server_can_stand_in_nobody_asks_again() -> None:
    ceilings, kept, _ = _ceilings(None)
    assert [_of(ceilings), _of(ceilings)] == [None, None]
    assert [row.rate_per_s for row in kept] == [None]
