"""What an interrupt becomes in code that drops it: the interrupt that it was."""

from __future__ import annotations

import os
import signal

import pytest

from gapbook.errors import RecordError
from gapbook.interrupts import interrupts_stay


class _Describes:
    """A value that is interrupted while a library asks for its words."""

    def __repr__(self) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "never"


def _fails_as_a_library_does() -> None:
    try:
        repr(_Describes())
    except KeyboardInterrupt:
        raise TypeError("'<unprintable object>' is not a data type") from None


def test_an_interrupt_that_a_library_drops_is_raised_all_the_same() -> None:
    with pytest.raises(KeyboardInterrupt) as raised, interrupts_stay():
        _fails_as_a_library_does()
    assert isinstance(raised.value.__cause__, TypeError)


def test_without_an_interrupt_an_error_is_the_error_that_it_is() -> None:
    with pytest.raises(TypeError, match="of ours"), interrupts_stay():
        raise TypeError("of ours")


def test_a_line_for_people_is_kept_though_an_interrupt_came_before_it() -> None:
    def told_then() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise RecordError("the run cannot be read") from None

    with pytest.raises(RecordError, match="cannot be read"), interrupts_stay():
        told_then()


def test_whoever_handled_interrupts_before_does_so_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_stay():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
