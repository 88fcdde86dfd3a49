"""What an answer must be read with: labels, jams, and servers that were not warm."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.pages import words
from gapbook.pages.versions import Groups, labels_with_class
from gapbook.pages.words import JAMS, listed
from gapbook.record.labels import CLIENT_BOUND, NOT_SUSTAINED
from gapbook.record.scenario import RecordedContestant

__all__ = ["answered_at", "caveats", "warmth_caveat"]


def answered_at(found: Findings, at: Collection[float], *contestants: RecordedContestant) -> Sequence[float]:
    """Those of ``at`` at which all of them run; where there are none, the first and the last such value."""
    names = [one.name for one in contestants]
    values = found.treatments_of(*names)
    return found.wanted_of(at, *names) or list(dict.fromkeys((values[0], values[-1])))


def caveats(found: Findings, compared: Groups, at: Collection[float]) -> list[str]:
    """What keeps the numbers of an answer from being read as they stand, a sentence each."""
    contestants = list({one.name: one for group in compared for one in group}.values())
    called = labels_with_class(found, contestants)
    ahead, bound = (_labelled(found, compared, called, at, label) for label in (NOT_SUSTAINED, CLIENT_BOUND))
    sentences = []
    if ahead:
        sentences.append(
            f"{_perhaps(ahead, begins=True)} still had work to do when the load ended, so a longer run may show a lower rate."
        )
    if bound:
        several = len(bound) > 1
        sentences.append(
            f"The client held back {_perhaps(bound)}, so a ratio with {'them' if several else 'it'} "
            "does not compare engines."
        )
    return [*sentences, *_jammed(found, compared, at), warmth_caveat(found, *contestants).strip()]


def _labelled(
    found: Findings, compared: Groups, called: Mapping[str, str], at: Collection[float], label: str
) -> dict[str, bool]:
    """Who may carry a label at what is answered for, and whether that is shown; the shown first."""
    carried: dict[str, bool] = {}
    for group in compared:
        for one in group:
            values = answered_at(found, at, *group)
            if found.may_have_label(one.name, label, values):
                shown = found.has_label(one.name, label, values)
                carried[called[one.name]] = carried.get(called[one.name], False) or shown
    return dict(sorted(carried.items(), key=lambda one: not one[1]))


def _jammed(found: Findings, compared: Groups, at: Collection[float]) -> list[str]:
    """What it means that one of them jams, where one does."""
    windows = {
        one.window_s
        for group in compared
        for treatment in answered_at(found, at, *group)
        for one in group
        if found.jams(one.name, treatment)
    }
    return [
        f"{JAMS.capitalize()}: fewer requests are answered in the {found.scenario.warmup_s + window_s:g} s of a trial than "
        "are in flight."
        for window_s in sorted(windows)[:1]
    ]


def _perhaps(named: Mapping[str, bool], *, begins: bool = False) -> str:
    """``A and perhaps B``: those of whom it is shown, then those of whom it is not; ``begins`` a sentence or not."""
    shown = [name for name, is_shown in named.items() if is_shown]
    perhaps = [name for name, is_shown in named.items() if not is_shown]
    if not perhaps:
        return listed(shown)
    return (
        f"{listed(shown)}, and perhaps {listed(perhaps)}"
        if shown
        else f"{'P' if begins else 'p'}erhaps {listed(perhaps)}"
    )


def warmth_caveat(found: Findings, *named: Named) -> str:
    """Which of these were still warming up inside their windows, as a sentence, and which perhaps; empty when none
    was."""
    suspected = [c for c in found.contestants(named) if found.warmth(c.name).suspected]
    shown = [c for c in suspected if found.warmth(c.name).reading == "still rising"]
    rising = list(dict.fromkeys(c.system_label for c in shown))
    perhaps = [label for label in dict.fromkeys(c.system_label for c in suspected) if label not in rising]
    if not rising:
        return f" Perhaps still warming up, and so understated: {words.listed(perhaps)}." if perhaps else ""
    also = f"; perhaps {words.listed(perhaps)} too" if perhaps else ""
    return f" Still warming up inside the window, and so understated: {words.listed(rising)}{also}."
