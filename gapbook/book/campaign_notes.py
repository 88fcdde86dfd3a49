"""What a campaign notes of itself: when it began, and how long sessions took, on each kind of machine.

What was measured stands in journals and runs; the notes tell how far they are without reading them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from gapbook.book.together import Unit
from gapbook.errors import RecordError
from gapbook.record.journal import begun_on
from gapbook.record.kind import kind_of, kind_words
from gapbook.record.machine import Machine
from gapbook.record.schema import one_line
from gapbook.record.whole import write_whole

__all__ = ["CampaignNotes", "OnKind"]

_FILE = "campaign.json"


class OnKind(msgspec.Struct):
    """The sessions of a unit on one kind of machine, which ``machine`` says in words."""

    machine: str
    seconds: list[float] = []


class _Took(msgspec.Struct):
    """How long the sessions of a unit took that was measured with these parameters, by kind of machine."""

    parameters: Mapping[str, object] = {}
    kinds: dict[str, OnKind] = {}
    seconds: list[float] = []
    """Of a campaign that did not note on which kind: on that which began the run."""


class _State(msgspec.Struct, omit_defaults=True):
    """When a campaign began, None between two, and what is noted of its units, by name.

    ``kept`` are units that are over, with the kinds of machines whose runs of them are unfinished.
    """

    started_unix_s: float | None
    took_s: dict[str, _Took]
    kept: dict[str, _Took] = {}


class CampaignNotes:
    """The notes of the campaign under way in a folder, or of a new one.

    Raises RecordError when they cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self._state = self._read()
        self.started_unix_s = self._state.started_unix_s = self._state.started_unix_s or time.time()

    def begin(self, units: Sequence[Unit]) -> None:
        """Note that these are to be measured, so that the campaign is not over before they are."""
        for unit in units:
            if unit.name not in self._state.took_s:
                self._state.took_s[unit.name] = self._state.kept.pop(
                    unit.name, _Took(unit.measuring_parameters)
                )
        self._write()

    def of(self, unit: Unit) -> Mapping[str, OnKind]:
        """The sessions of a unit, by kind of machine; none of one that was changed since."""
        took = self._state.took_s.get(unit.name) or self._state.kept.get(unit.name)
        if took is None or took.parameters != unit.measuring_parameters:
            return {}
        if took.seconds:
            began = {kind_of(machine): machine for machine in begun_on(unit.measured_as)}
            if len(began) == 1:
                ((kind, machine),) = began.items()
                took.kinds[kind] = OnKind(kind_words(machine), took.seconds)
            took.seconds = []
        return took.kinds

    def add(self, unit: Unit, machine: Machine, seconds: float) -> None:
        """Note a session that is done."""
        kinds = {**self.of(unit)}
        noted = kinds.setdefault(kind_of(machine), OnKind(kind_words(machine)))
        noted.seconds.append(seconds)
        self._state.took_s[unit.name] = _Took(unit.measuring_parameters, kinds)
        self._write()

    def end(self, unfinished: Mapping[str, Collection[str]]) -> None:
        """Forget units that are over, given by name, but for the kinds of machines whose runs of them are unfinished; a
        campaign of which no unit is left is over."""
        state = self._state
        for name, kinds in unfinished.items():
            took = state.took_s.pop(name, None)
            if took is not None and kinds:
                state.kept[name] = _Took(took.parameters, {kind: took.kinds[kind] for kind in kinds})
        # What another command measures is still to be gone on with.
        if not state.took_s:
            state.started_unix_s = None
        if state.took_s or state.kept:
            self._write()
        else:
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        """Raises RecordError where they cannot be written."""
        try:
            write_whole(self._path, msgspec.json.format(msgspec.json.encode(self._state), indent=1))
        except OSError as error:
            raise RecordError(
                f"campaign: {self._path} cannot be written ({error.strerror}); trials measured so far are kept; "
                "make room, then give the same command again"
            ) from error

    def _read(self) -> _State:
        if not self._path.is_file():
            return _State(None, {})
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_State)
        except (msgspec.MsgspecError, ValueError, RecursionError, OSError) as error:
            raise RecordError(
                f"campaign: {self._path} cannot be read ({one_line(error)}); remove it to begin a new campaign, "
                "trials of interrupted runs are kept all the same"
            ) from error
