"""The first screen: the claim with its verdict, and the answer in plain words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from gapbook.claims import verdicts
from gapbook.claims.claim import NOTE, claim
from gapbook.claims.rules import RULES
from gapbook.markup import Html, each, link
from gapbook.method.cells import Named
from gapbook.method.interval import Interval
from gapbook.method.over_runs import ratio_over_runs
from gapbook.method.source import Ratio
from gapbook.pages import page
from gapbook.pages.citation import CitationResults
from gapbook.pages.cuts import cut_sentence
from gapbook.pages.gloss import gloss_of
from gapbook.pages.strikes import bound_words
from gapbook.pages.words import JAMS, listed, listed_html, operation_of, operations_of
from gapbook.record.cuts import observed_cuts
from gapbook.record.labels import CLIENT_BOUND, NOT_SUSTAINED
from gapbook.record.losses import ObservedLoss
from gapbook.record.metric import GOODPUT
from gapbook.record.scenario import RecordedContestant

__all__ = ["AnswerResults", "Compared"]

Compared: TypeAlias = tuple[str, Named, Named] | tuple[str, Named, Named, str]
"""A sentence, two contestants, and the metric whose ratio stands in it; goodput without one."""
_Groups: TypeAlias = Sequence[Sequence[RecordedContestant]]
_SENTENCE = "{over} committed {ratios} as many {operations} per second as {under}."
_LEAST_TOLD_S = 0.01
_TOLD_RULES = frozenset({"arithmetic", "count", "source"})
"""Rules whose verdicts rest on no run, which a verdict beside numbers of a run does not say by itself."""


class AnswerResults(CitationResults):
    """What a run says about a question. A number in an answer can be cited, and nothing else can."""

    def claim_line(self, claim_id: str) -> Html:
        """The claim that the chapter is about, published or our arithmetic on what was, with its verdict."""
        about = claim(claim_id)
        judged = verdicts.judge_with(claim_id, self)
        return page.claim_line(
            "Our arithmetic on published figures" if about.kind == NOTE else "Published claim",
            about.says,
            anchor=claim_id,
            where=about.citation,
            address=about.address,
            verdict=(judged.verdict, judged.word),
            basis=self._basis(judged),
            summary=" ".join(filter(None, (_sentence(judged.published_and_ours), judged.summary))),
        )

    def claim_and_verdict(self, claim_id: str) -> Html:
        """The claim of a first screen with who published it, then its verdict with our number for the same thing."""
        about, judged = claim(claim_id), verdicts.judge_with(claim_id, self)
        return page.published_claim(
            "Published" if about.kind != NOTE else "Published figures, our arithmetic",
            about.says,
            by=about.published_by,
            address=about.address,
        ) + page.verdict_line(judged.verdict, judged.word, judged.published_and_ours, anchor=claim_id)

    def _basis(self, judged: verdicts.Judgement) -> str | Html:
        """What a verdict rests on, where that is not this run alone."""
        if judged.rule in _TOLD_RULES:
            return RULES[judged.rule]
        chapters = dict.fromkeys(one.chapter for one in judged.evidence if one.chapter)
        if set(chapters) <= {self.scenario.chapter}:
            return ""
        links = [link(f"{chapter}.html", chapter) for chapter in chapters]
        return Html("as measured in {}").format(listed_html(links))

    def claim_lines(self, *claim_ids: str) -> Html:
        """Several claims, each with its verdict."""
        return Html("").join(map(self.claim_line, claim_ids))

    def answer_ratio(self, over: Named, under: Named, sentence: str = _SENTENCE) -> page.Answer:
        """One comparison; see :meth:`answer`."""
        return self.answer((sentence, over, under))

    def answer(self, *compared: Compared, at: Collection[float] = ()) -> page.Answer:
        """The answer: a sentence for each pair of contestants, then what it must be read with.

        In a sentence ``{over}`` and ``{under}`` become the systems with their versions, ``{ratios}`` how many
        times the metric of ``under`` that of ``over`` is, ``{operation}`` and ``{operations}`` what the
        workload calls its operations. Where that holds, and how many times it is elsewhere, ends the sentence.
        ``at`` are the values of the treatment that are answered for; without them, or where the run has none
        of them for both, the first and the last that both were measured at. What the run does not answer is
        said last, each once.
        """
        told = [self.compared(*one, at=at) for one in compared]
        answered = [pair[1:3] for one, pair in zip(told, compared, strict=True) if one.cited]
        cited = [number for one in told for number in one.cited]
        sentences = dict.fromkeys(one.sentence for one in sorted(told, key=lambda one: not one.cited))
        return self.read_with(Html(" ").join(sentences), answered, cited, at=at)

    def read_with(
        self,
        text: Html,
        compared: Sequence[Sequence[Named]],
        cited: Sequence[page.Cited],
        *,
        at: Collection[float] = (),
    ) -> page.Answer:
        """An answer with what it must be read with: promises, caveats, and what the treatment means.

        ``compared`` are the contestants of each comparison, ``at`` the values of the treatment that it is for, as in
        :meth:`answer`. Without a number there is nothing to be read with.
        """
        if not cited:
            return page.answer(text)
        groups = [self.contestants(group) for group in compared]
        after = [
            self.treatment_gloss(),
            self.promises_of(groups),
            *self._caveats(groups, at),
            self.between_sessions(cited),
        ]
        return page.answer(text, cited, " ".join(filter(None, after)))

    def compared(
        self,
        sentence: str,
        above: Named,
        beneath: Named,
        metric: str = GOODPUT.name,
        *,
        at: Collection[float],
    ) -> page.Answer:
        """One sentence of :meth:`answer`, without what it must be read with."""
        parts, untold, cited, vague, even = [], [], [], [], []
        over, under = self.contestants((above, beneath))
        counted = f"{self._operations} per second" if metric == GOODPUT.name else self.metric(metric).words
        for treatment in self._answered_at(at, over, under):
            ratio = self.ratio(over.name, under.name, treatment, metric)
            if absent := [one for one in (over, under) if one.name in self.absent]:
                reasons = "; ".join(f"{one.name}: {self.absent[one.name]}" for one in absent)
                return page.Answer(Html.escape(f"Not measured here: {reasons}."))
            if unplanned := [one for one in (over, under) if one.name not in self._planned]:
                usual = self.scenario.durability
                named = ", ".join(f"{c.system_label} ({c.settings.durability or usual})" for c in unplanned)
                return page.Answer(Html.escape(f"Not in this run: {named}."))
            if ratio is None:
                return page.Answer(
                    Html.escape(
                        f"Not answered by this run: {over.name} or {under.name} has no valid trial "
                        f"at {self.at(treatment)}."
                    )
                )
            if why := self._why_untold(ratio, treatment, over, under):
                untold.append((self.at(treatment), why))
                continue
            between = self._between_runs(over, under, treatment, metric)
            told = f" ({between} between runs)" if between else ""
            parts.append((Html("{}{}").format(page.estimate(ratio.as_times()), told), self.at(treatment)))
            if ratio.vague:
                vague.append(ratio.n)
            elif ratio.bounded and ratio.low < 1 < ratio.high:
                even.append(self.at(treatment))
            cited.append(
                self.cited(
                    f"{over.full_label} ÷ {under.full_label}, {counted}",
                    treatment,
                    ratio,
                    self.over_sessions(self.ratio_by_block(over.name, under.name, treatment, metric)),
                    between,
                    Ratio(over.name, under.name, treatment, metric),
                )
            )
        if not parts:
            named = f"{self.versioned_label(over)} against {self.versioned_label(under)}"
            reasons = "; ".join(f"at {where} {why}" for where, why in untold)
            return page.Answer(Html.escape(f"Not answered by this run, {named}: {reasons}."))
        text = _told(Html.escape(sentence), parts).replace("{operations}", self._operations)
        text = text.replace("{operation}", operation_of(self.scenario.workload))
        for place, contestant in (("{over}", over), ("{under}", under)):
            text = text.replace(place, self.versioned_label(contestant))
        text += "".join(f" At {where} {why}: no ratio." for where, why in untold)
        if vague:
            text += f" That rests on {min(vague)} blocks alone and says next to nothing."
        if even:
            where = "This" if len(even) == len(parts) else f"At {listed(even)} this"
            text += f" {where} run cannot tell the two apart."
        text += self._opposed(over, under, metric, at)
        return page.Answer(text, tuple(cited))

    def _between_runs(
        self, over: RecordedContestant, under: RecordedContestant, treatment: float, metric: str
    ) -> str:
        """From the least to the greatest that published runs made of the same ratio; empty where there is but one, and
        on a reader's own run."""
        if not self.run.published:
            return ""
        found = ratio_over_runs(self, over.name, under.name, treatment, metric)
        return found.as_range() if found and found.runs > 1 else ""

    def _why_untold(self, ratio: Interval, treatment: float, *pair: RecordedContestant) -> str:
        """Why a ratio is in no answer, as the rest of a sentence; empty where it may stand there."""
        if self.stands_alone(ratio, treatment, *pair):
            return ""
        if stuck := [self.versioned_label(one) for one in pair if self.jams(one.name, treatment)]:
            return f"{listed(stuck)} {JAMS}"
        return f"its interval over {ratio.n} block{'s' if ratio.n > 1 else ''} is too wide"

    def _opposed(
        self, over: RecordedContestant, under: RecordedContestant, metric: str, at: Collection[float]
    ) -> str:
        """That older published runs said the opposite, where one did: of a published run only."""
        held = (
            ratio_over_runs(self, over.name, under.name, treatment, metric)
            for treatment in self._answered_at(at, over, under)
            if self.run.published
        )
        opposed = [one.interval.as_times() for ratio in held if ratio for one in ratio.opposed(self.run)]
        if not opposed:
            return ""
        return f" Another run of this book held the opposite, {listed(opposed)}: see Corrections."

    def _answered_at(self, at: Collection[float], *contestants: RecordedContestant) -> Sequence[float]:
        """Those of ``at`` at which all of them run; where there are none, the first and the last such value."""
        names = [one.name for one in contestants]
        values = self.treatments_of(*names)
        return self.wanted_of(at, *names) or list(dict.fromkeys((values[0], values[-1])))

    @property
    def _operations(self) -> str:
        return operations_of(self.scenario.workload)

    @property
    def _planned(self) -> set[str]:
        """Contestants that the run's plan has; a notebook can name others when the run is older."""
        return {contestant.name for contestant in self.scenario.contestants}

    # --- what an answer must be read with -----------------------------------------------------
    def treatment_gloss(self) -> str:
        """What the values of the treatment mean, computed; empty for one that explains itself."""
        return gloss_of(self.scenario)

    def promises_of(self, compared: _Groups) -> str:
        """The durability class of each side of each comparison, and what kills showed of it."""
        real = [[c for c in group if not c.simulated] for group in compared]
        classes = [[c.durability for c in group] for group in real if group]
        if not classes:
            return ""
        if not self.scenario.workload.stores:
            return "Nothing is stored, so no promise about a crash is compared."
        everybody = [one for group in real for one in group]
        equal = all(len(set(of_group)) == 1 for of_group in classes)
        if equal:
            each = dict.fromkeys(of_group[0] for of_group in classes)
            both = " for both" if len({self.versioned_label(one) for one in everybody}) == 2 else ""
            said = f"{' or '.join(each)}{both if len(each) == 1 else ', the same on both sides of each comparison'}"
        else:
            declared: dict[str, dict[str, None]] = {}
            for one in everybody:
                level = declared.setdefault(one.durability, {})
                level[self.versioned_label(one)] = None
            said = "; ".join(f"{listed(list(labels))} {level}" for level, labels in declared.items())
        cuts = cut_sentence(self, self._with_class(everybody))
        return f"Durability: {said}{self._observed(everybody, equal=equal)}{cuts}"

    def _observed(self, contestants: Sequence[RecordedContestant], *, equal: bool) -> str:
        """What kills showed of the declared classes."""
        checked = {one.name: self.observed_loss(one.name) for one in contestants}
        unequal = "" if equal else " (the promises differ)"
        if self._all_cut(contestants) and not any(loss.refutes_declared for loss in checked.values()):
            # A power cut takes what a kill takes and more, and is told next.
            return f"{unequal}."
        if not any(loss.kills for loss in checked.values()):
            return f"{unequal}; this run did not test it by killing servers."
        classes = {one.name: one.durability for one in contestants}
        labels = self._with_class(contestants)
        lost = [one for one in contestants if checked[one.name].worst_lost_transfers]
        if refuted := [one for one in lost if checked[one.name].refutes_declared]:
            told = listed(self._losses(refuted, labels))
            return f", but killed under load{self._called(refuted)} {told}: the promises are not equal."
        if lost:
            kept = [
                f"servers with {level} lost nothing in {_kills_each([checked[name] for name in of_level])}"
                for level in dict.fromkeys(classes.values())
                if (of_level := [name for name, one in classes.items() if one == level])
                and all(checked[name].kept_all for name in of_level)
            ]
            told = listed([*kept, *self._losses(lost, labels)])
            return f"{unequal}; killed under load{self._called(lost)}, {told}."
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
        killed = f"no kill of these servers took an acknowledged {operation_of(self.scenario.workload)}"
        return f"; {killed}, {_kills_each(checked.values())}; {bound}." if equal else f"{unequal}."

    def _losses(self, contestants: Sequence[RecordedContestant], labels: Mapping[str, str]) -> list[str]:
        """``A lost 123 acknowledged transfers (0.02 s of work)``, ``B lost 4,002 (0.18 s)``, or ``B up to 4,002
        (0.18 s)``: the most a kill took."""
        worst = dict.fromkeys((labels[one.name], self._loss_however_called(one)) for one in contestants)
        (label, loss), *others = worst
        return [
            f"{label} lost {_loss_words(loss, f' acknowledged {self._operations}', ' of work')}",
            *(f"{label} {'' if loss.kills > 1 else 'lost '}{_loss_words(loss)}" for label, loss in others),
        ]

    def _called(self, contestants: Sequence[RecordedContestant]) -> str:
        """Says so where losses are told of kills in which the server was called in another way than in the answer."""
        own = all(self._loss_however_called(one) == self.observed_loss(one.name) for one in contestants)
        return "" if own else ", however called"

    def _loss_however_called(self, contestant: RecordedContestant) -> ObservedLoss:
        """What kills took of its system, version and class, whichever way that was called."""
        return self.observed_loss(
            *(
                one.name
                for one in self.scenario.contestants
                if (one.server, one.durability) == (contestant.server, contestant.durability)
            )
        )

    def _all_cut(self, contestants: Sequence[RecordedContestant]) -> bool:
        """Whether the power of each was cut with an answer."""
        rows = self.run.manifest.cut_checks
        return all(observed_cuts(rows, one.name).cuts for one in contestants)

    def _with_class(self, contestants: Sequence[RecordedContestant]) -> dict[str, str]:
        """What each is called, with its class where there are several."""
        several = len({one.durability for one in contestants}) > 1
        return {
            one.name: f"{self.versioned_label(one)} ({one.durability})"
            if several
            else self.versioned_label(one)
            for one in contestants
        }

    def _caveats(self, compared: _Groups, at: Collection[float]) -> list[str]:
        contestants = list({one.name: one for group in compared for one in group}.values())
        called = self._with_class(contestants)
        ahead, bound = (
            self._labelled(compared, called, at, label) for label in (NOT_SUSTAINED, CLIENT_BOUND)
        )
        sentences = []
        if ahead:
            sentences.append(
                f"{_perhaps(ahead)} still had work to do when the load ended, so a longer run may show a lower rate."
            )
        if bound:
            several = len(bound) > 1
            sentences.append(
                f"The client held back {_perhaps(bound)}, so a ratio with {'them' if several else 'it'} "
                "does not compare engines."
            )
        return [*sentences, *self._jammed(compared, at), self.warmth_caveat(*contestants).strip()]

    def _labelled(
        self, compared: _Groups, called: Mapping[str, str], at: Collection[float], label: str
    ) -> dict[str, bool]:
        """Who may carry a label at what is answered for, and whether that is shown; the shown first."""
        found: dict[str, bool] = {}
        for group in compared:
            for one in group:
                values = self._answered_at(at, *group)
                if self.may_have_label(one.name, label, values):
                    shown = self.has_label(one.name, label, values)
                    found[called[one.name]] = found.get(called[one.name], False) or shown
        return dict(sorted(found.items(), key=lambda one: not one[1]))

    def _jammed(self, compared: _Groups, at: Collection[float]) -> list[str]:
        """What it means that one of them jams, where one does."""
        windows = {
            one.window_s
            for group in compared
            for treatment in self._answered_at(at, *group)
            for one in group
            if self.jams(one.name, treatment)
        }
        return [
            f"*{JAMS.capitalize()}*: fewer requests are answered in the {self.scenario.warmup_s + window_s:g} s of a trial than "
            "are in flight."
            for window_s in sorted(windows)[:1]
        ]

    # --- who is meant -------------------------------------------------------------------------
    def versioned_label(self, contestant: RecordedContestant) -> str:
        """``SpacetimeDB 1.2.0``: the system with the version that its server said.

        An engine that each client embeds has no server to ask, and a simulated one no version.
        """
        version = self.version_of(contestant)
        label = contestant.system_label
        if contestant.in_process or contestant.simulated or not version or label.endswith(version):
            return label
        return f"{label} {version}"

    def version_of(self, contestant: RecordedContestant) -> str:
        """What the server of a contestant said of its version; empty when the run does not tell."""
        system = self.run.manifest.systems.get(contestant.server)
        return "" if system is None else system.version


def _sentence(words: str) -> str:
    return f"{words}." if words else ""


def _told(sentence: Html, parts: Sequence[tuple[Html, str]]) -> Html:
    """A sentence with its first ratio in it; where that holds ends it, and what the ratio is elsewhere.

    ``parts`` are ratios, each with where it holds: ``A does 1.72 times as many as B at α = 0, and 2.04 times
    at α = 1.5.``
    """
    (first, where), *others = parts
    *between, last = [Html(""), *(Html("{} at {}").format(*other) for other in others)]
    tail = each(Html(", {}"), filter(None, between)) + (Html(", and {}").format(last) if last else "")
    return Html("{} at {}{}.").format(sentence.removesuffix(".").replace("{ratios}", first), where, tail)


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


def _perhaps(named: Mapping[str, bool]) -> str:
    """``A and perhaps B``: those of whom it is shown, then those of whom it is not."""
    shown = [name for name, is_shown in named.items() if is_shown]
    perhaps = [name for name, is_shown in named.items() if not is_shown]
    if not perhaps:
        return listed(shown)
    return f"{f'{listed(shown)}, and ' if shown else ''}perhaps {listed(perhaps)}"
