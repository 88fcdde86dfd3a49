"""The run of what was asked for: measured now, or begun before and finished now."""

from __future__ import annotations

from collections.abc import Callable

from gapbook.load.maker import BESIDE_THE_SERVER, LoadMaker
from gapbook.record.run import Run
from gapbook.trial.asked import Asked
from gapbook.trial.campaign import Measurement, measurement_of
from gapbook.trial.servers import absent_here

__all__ = ["measured", "to_measure"]


def measured(
    asked: Asked,
    source: str,
    say: Callable[[str], None] = print,
    maker: LoadMaker = BESIDE_THE_SERVER,
) -> Run:
    """A run of all contestants that can be measured on this machine; who cannot is said, and stands in the run.

    ``maker`` makes its loads. ``source`` is ``live``, ``resume`` or ``session``; raises what :func:`to_measure` and
    :meth:`gapbook.trial.campaign.Measurement.run` do.
    """
    return to_measure(asked, say, maker).run(source)


def to_measure(
    asked: Asked, say: Callable[[str], None] = print, maker: LoadMaker = BESIDE_THE_SERVER
) -> Measurement:
    """What was asked for, of all contestants that can be measured on this machine; raises what
    :func:`gapbook.trial.campaign.measurement_of` does, and SetupError when nobody can be measured."""
    absent = absent_here(asked.choices, asked.scenario.contestants)
    for reason in dict.fromkeys(absent.values()):
        names = ", ".join(name for name, why in absent.items() if why == reason)
        say(f"not measured here: {names}: {reason}")
    return measurement_of(
        asked.here(absent),
        blocks=asked.blocks,
        attempts=asked.attempts,
        choices=asked.choices,
        absent=absent,
        kills=asked.kills,
        cuts=asked.cuts,
        sessions=asked.sessions,
        trials_per_block=asked.trials_per_block,
        only_at=asked.only_at,
        parameters=asked.parameters,
        say=say,
        maker=maker,
    )
