"""What each side of a comparison promises of the disk, and what kills and cuts showed of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from gapbook.method.findings import Findings
from gapbook.pages.losses.cuts import cut_sentence
from gapbook.pages.losses.strikes import bound_words, left_nothing
from gapbook.pages.versions import Groups, labels_with_class, versioned_label
from gapbook.pages.words import listed, operation_of, operations_of
from gapbook.record.cuts import observed_cuts
from gapbook.record.losses import ObservedLoss
from gapbook.record.scenario import RecordedContestant

__all__ = ["promises_of"]

_LEAST_TOLD_S = 0.01


def promises_of(found: Findings, compared: Groups) -> str:
    """The durability class of each side of each comparison, and what kills showed of it."""
    real = [[c for c in group if not c.simulated] for group in compared]
    classes = [[c.durability for c in group] for group in real if group]
    if not classes:
        return ""
    if not found.scenario.workload.stores:
        return "Nothing is stored, so no promise about a crash is compared."
    everybody = [one for group in real for one in group]
    equal = all(len(set(of_group)) == 1 for of_group in classes)
    if equal:
        each = dict.fromkeys(of_group[0] for of_group in classes)
        both = " for both" if len({versioned_label(found, one) for one in everybody}) == 2 else ""
        said = (
            f"{' or '.join(each)}{both if len(each) == 1 else ', the same on both sides of each comparison'}"
        )
    else:
        declared: dict[str, dict[str, None]] = {}
        for one in everybody:
            level = declared.setdefault(one.durability, {})
            level[versioned_label(found, one)] = None
        said = "; ".join(f"{listed(list(labels))} {level}" for level, labels in declared.items())
    cuts = cut_sentence(found, labels_with_class(found, everybody))
    ruins = _ruins(found, everybody)
    return f"Durability: {said}{_observed(found, everybody, equal=equal)}{ruins}{cuts}"


def _observed(found: Findings, contestants: Sequence[RecordedContestant], *, equal: bool) -> str:
    """What kills showed of the declared classes."""
    checked = {one.name: found.observed_loss(one.name) for one in contestants}
    unequal = "" if equal else " (the promises differ)"
    if _all_cut(found, contestants) and not any(loss.refutes_declared for loss in checked.values()):
        # A power cut takes what a kill takes and more, and is told next.
        return f"{unequal}."
    if not any(loss.kills for loss in checked.values()):
        return f"{unequal}; this run did not test it by killing servers."
    classes = {one.name: one.durability for one in contestants}
    labels = labels_with_class(found, contestants)
    lost = [one for one in contestants if checked[one.name].worst_lost_transfers]
    if refuted := [one for one in lost if checked[one.name].refutes_declared]:
        told = listed(_losses(found, refuted, labels))
        return f", but killed under load{_called(found, refuted)} {told}: the promises are not equal."
    if lost:
        kept = [
            f"servers with {level} lost nothing in {_kills_each([checked[name] for name in of_level])}"
            for level in dict.fromkeys(classes.values())
            if (of_level := [name for name, one in classes.items() if one == level])
            and all(checked[name].kept_all for name in of_level)
        ]
        told = listed([*kept, *_losses(found, lost, labels)])
        return f"{unequal}; killed under load{_called(found, lost)}, {told}."
    if open_still := [one.full_label for one in contestants if not checked[one.name].kept_all]:
        named = listed(list(dict.fromkeys(open_still)))
        unknown = f"whether {named} lost something when killed is not known"
        if not (kept_all := [loss for loss in checked.values() if loss.kept_all]):
            return f"{unequal}; {unknown}."
        return (
            f"{unequal}; {_kills_each(kept_all)} of the others under load took nothing, and {unknown}; "
            f"{bound_words(_least_kills(kept_all), 'kill')}."
        )
    least = _least_kills(checked.values())
    bound = f"{bound_words(least, 'kill')}, and no kill tests the disk"
    killed = f"no kill of these servers took an acknowledged {operation_of(found.scenario.workload)}"
    return f"; {killed}, {_kills_each(checked.values())}; {bound}." if equal else f"{unequal}."


def _ruins(found: Findings, contestants: Sequence[RecordedContestant]) -> str:
    """Which servers did not start again after a kill, or could not be read; nothing where all did."""
    of_label: dict[str, list[str]] = defaultdict(list)
    for name, label in labels_with_class(found, contestants).items():
        of_label[label].append(name)
    said = []
    for label, names in of_label.items():
        loss = found.observed_loss(*names)
        broken = ", which its class does not allow" if loss.refutes_declared else ""
        if loss.unreadable:
            said.append(f"{label} {left_nothing(loss.unreadable, loss.kills, 'kill')}{broken}")
    return f" Killed under load: {'; '.join(said)}." if said else ""


def _losses(
    found: Findings, contestants: Sequence[RecordedContestant], labels: Mapping[str, str]
) -> list[str]:
    """``A lost 123 acknowledged transfers (0.02 s of work)``, ``B lost 4,002 (0.18 s)``, or ``B up to 4,002
    (0.18 s)``: the most a kill took, of those that share a label."""
    of_label: dict[str, set[str]] = defaultdict(set)
    for one in contestants:
        of_label[labels[one.name]].update(_however_called(found, one))
    (label, loss), *others = ((label, found.observed_loss(*names)) for label, names in of_label.items())
    return [
        f"{label} lost {_loss_words(loss, f' acknowledged {operations_of(found.scenario.workload)}', ' of work')}",
        *(f"{label} {'' if loss.kills > 1 else 'lost '}{_loss_words(loss)}" for label, loss in others),
    ]


def _called(found: Findings, contestants: Sequence[RecordedContestant]) -> str:
    """Says so where losses are told of kills in which the server was called in another way than in the answer."""
    own = all(
        found.observed_loss(*_however_called(found, one)) == found.observed_loss(one.name)
        for one in contestants
    )
    return "" if own else " from any of the clients"


def _however_called(found: Findings, contestant: RecordedContestant) -> list[str]:
    """All of its server and class, whichever way that was called."""
    return [
        one.name
        for one in found.scenario.contestants
        if (one.server, one.durability) == (contestant.server, contestant.durability)
    ]


def _all_cut(found: Findings, contestants: Sequence[RecordedContestant]) -> bool:
    """Whether the power of each was cut with an answer."""
    rows = found.run.manifest.cut_checks
    return all(observed_cuts(rows, one.name).cuts for one in contestants)


def _least_kills(losses: Collection[ObservedLoss]) -> int:
    return min(loss.kills for loss in losses)


def _kills_each(losses: Collection[ObservedLoss]) -> str:
    """``2 kills of each``, where one of them may have had more."""
    least = _least_kills(losses)
    return f"{least} kill{'s' if least > 1 else ''} of each"


def _loss_words(loss: ObservedLoss, operations: str = "", of_work: str = "") -> str:
    """``up to 63,490 acknowledged transfers a kill (2.07 s of work)``, of one kill without *up to*.

    Both are the most that any kill took, and not always the same kill. Without what is counted, for who is told after
    another: ``up to 63,490 (2.07 s)``.
    """
    several = loss.kills > 1
    lost = f"{'up to ' if several else ''}{loss.worst_lost_transfers:,}{operations}"
    if several and operations:
        lost += " a kill"
    if loss.worst_loss_s is None:
        return lost
    if loss.worst_loss_s < _LEAST_TOLD_S:
        return f"{lost} (less than {_LEAST_TOLD_S:g} s{of_work})"
    return f"{lost} ({loss.worst_loss_s:.2f} s{of_work})"
