"""What is said of bank transfers alone: what their Zipf exponent means, and what a hot account bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_factor
from gapbook.method.source import Kept, RatioOfRatios
from gapbook.model.work import REDRAW_BOTH, REDRAW_DESTINATION, AliasTable, hot_share
from gapbook.pages import page
from gapbook.pages.answer import read_with
from gapbook.pages.exhibits.sweeps import line_axis, line_point
from gapbook.pages.gloss import busiest_share
from gapbook.pages.provenance import provenance
from gapbook.pages.versions import versioned_label
from gapbook.pages.words import NO_VALID_TRIAL
from gapbook.record.durability import Durability
from gapbook.record.labels import NOT_SUSTAINED
from gapbook.record.metric import GOODPUT
from gapbook.record.scenario import RecordedContestant

__all__ = ["answer_contention", "contention_chart", "hot_key_table", "redraw_table"]

_CEILING_DRAWN_BELOW = 7.0


def contention_chart(
    found: Findings,
    contestants: Sequence[Named],
    ceiling_of: Named | None = None,
    *,
    kept: tuple[float, float] | None = None,
    names: Mapping[str, str] | None = None,
    title: str = "",
) -> charts.Figure:
    """Goodput over the Zipf exponent. ``ceiling_of`` adds the bound of a lock on the hottest account,
    held for as long as the contestant's goodput at the highest exponent allows at most. With ``kept``, two exponents,
    each name says which part of its rate at the first a contestant keeps at the second, with its interval. ``names`` are
    those of the author, by contestant."""
    shown = found.contestants(contestants)
    called = {**_told_apart(shown), **(names or {})}
    title = title or _contention_title(found, shown)
    series = [
        charts.Line(
            contestant.colour,
            called[contestant.name] + _kept(found, contestant, kept),
            tuple(points),
        )
        for contestant in shown
        if (
            points := [
                p for a in found.treatments if (p := line_point(found, a, contestant.name, a)) is not None
            ]
        )
    ]
    if not series:
        return charts.missing(title, "No contestant has a valid trial.", provenance=provenance(found))
    if ceiling_of is not None and (ceiling := _ceiling(found, ceiling_of)):
        series.append(ceiling)
    return charts.lines(
        series,
        x_label=found.scenario.treatment.words,
        x_ticks=found.treatments,
        x_log=False,
        provenance=provenance(found),
        title=title,
        subtitle=f"Audited operations per second, {Durability.parse(found.scenario.durability).words}."
        + (f" Kept: the rate at α = {kept[1]:g}, divided by that at {kept[0]:g}." if kept else ""),
        **line_axis(found, GOODPUT.name),
    )


def _told_apart(contestants: Sequence[RecordedContestant]) -> dict[str, str]:
    """``Postgres (serializable)``: each by its system and by what not all of them have."""
    parts = {one.name: one.detail.split(" · ") for one in contestants}
    alike = set.intersection(*map(set, parts.values())) if parts else set()
    own = {name: " · ".join(part for part in of_one if part not in alike) for name, of_one in parts.items()}
    return {
        one.name: f"{one.system_label} ({own[one.name]})" if own[one.name] else one.system_label
        for one in contestants
    }


def _kept(found: Findings, contestant: RecordedContestant, span: tuple[float, float] | None) -> str:
    if span is None:
        return ""
    first, last = span
    part = found.across_treatments(contestant.name, last, first)
    return f": keeps {part.as_percent()}" if part else ""


def _ceiling(found: Findings, contestant: Named) -> charts.Line | None:
    highest, lowest = (found.goodput(contestant.name, a) for a in (found.treatments[-1], found.treatments[0]))
    if highest is None or lowest is None:
        return None
    bound = highest.estimate * busiest_share(found.scenario, found.treatments[-1])
    points = [
        charts.LinePoint(treatment, Interval(rate, rate, rate, 1))
        for treatment in found.treatments
        if (rate := bound / busiest_share(found.scenario, treatment)) < _CEILING_DRAWN_BELOW * lowest.estimate
    ]
    return charts.Line("other", "hot-key ceiling, fitted to the last point", tuple(points), is_ceiling=True)


def _contention_title(found: Findings, contestants: Sequence[RecordedContestant]) -> str:
    parts = []
    for contestant in contestants:
        ends = [
            value
            for treatment in (found.treatments[0], found.treatments[-1])
            if (value := found.goodput(contestant.name, treatment)) is not None
            and found.stands_alone(value, treatment, contestant)
        ]
        unsure = found.may_have_label(
            contestant.name, NOT_SUSTAINED, (found.treatments[0], found.treatments[-1])
        )
        if len(ends) == 2 and not unsure:
            parts.append((ends[1].estimate / ends[0].estimate, contestant))
    if not parts:
        return "No contestant has a rate at both ends of contention whose interval is narrow enough to say something"
    kept, least = max(parts, key=lambda part: part[0]), min(parts, key=lambda part: part[0])
    return (
        f"From {found.at(found.treatments[0])} to {found.treatments[-1]:g} the rate of {least[1].full_label} goes to "
        f"{100 * least[0]:.0f} %, that of {kept[1].full_label} to {100 * kept[0]:.0f} %"
    )


def hot_key_table(found: Findings, contestants: Sequence[str]) -> Html:
    """For each exponent: the share of transfers on the hottest account, and the longest that a lock on
    it can be held at the measured goodput."""
    columns = [
        found.scenario.treatment.label,
        "touch the hottest account",
        *(f"{name}: hold at most" for name in contestants),
    ]
    rows: list[list[str | Html]] = []
    for treatment in found.treatments:
        share = busiest_share(found.scenario, treatment)
        cells = []
        for name in contestants:
            goodput = found.goodput(name, treatment)
            cells.append(
                f"{format_factor(1e3 / (share * goodput.estimate))} ms" if goodput else NO_VALID_TRIAL
            )
        rows.append([f"{treatment:g}", f"{share:.3%}", *cells])
    return values_table(columns, rows)


def redraw_table(found: Findings) -> Html:
    """What an exponent means by what is drawn again while both accounts are the same: how many transfers
    touch the hottest account, and how many have it as their source, which is Zipf's own share of it
    where the source is kept."""
    kinds = {REDRAW_BOTH: "both drawn again", REDRAW_DESTINATION: "destination drawn again"}
    kinds[found.scenario.workload.redraw] += " (this run)"
    columns = [f"touch the hottest account, {words}" for words in kinds.values()]
    columns += [
        "source is the hottest account, both drawn again",
        "source is the hottest account, by Zipf's law",
    ]
    if not found.scenario.workload.accounts:
        return page.banner("note", "This run did not record how many accounts it had.")
    rows: list[list[str | Html]] = []
    for treatment in found.treatments:
        table = AliasTable.zipf_cached(found.scenario.workload.accounts, treatment)
        touching = {redraw: hot_share(table, redraw) for redraw in kinds}
        # Drawn again together, the two accounts are alike: each is the hottest half as often as either.
        shares = (*touching.values(), touching[REDRAW_BOTH] / 2, float(table.probabilities()[0]))
        rows.append([f"{treatment:g}", *(f"{100 * share:.3g} %" for share in shares)])
    return values_table((found.scenario.treatment.label, *columns), rows)


def answer_contention(
    found: Findings, *told: tuple[str, Named, Named], spans: Sequence[tuple[float, float]] = ()
) -> page.Answer:
    """A sentence for each pair of contestants, the first over the second: ``{factor}`` becomes the growth of their ratio
    from a low exponent to a high one, ``{low}`` and ``{high}`` these, ``{kept_over}`` and ``{kept_under}`` what each
    contestant keeps of its rate, ``{over}`` and ``{under}`` their systems.

    The sentences are said for each of ``spans`` that the run has; without any, from its lowest exponent to its highest.
    """
    known = [span for span in spans if set(span) <= set(found.treatments)]
    asked = known or [(found.treatments[0], found.treatments[-1])]
    said = [
        _contention(found, over, under, sentence, *span) for span in asked for sentence, over, under in told
    ]
    return read_with(
        found,
        Html(" ").join(dict.fromkeys(one.sentence for one in said)),
        [pair for _, *pair in told],
        [number for one in said for number in one.cited],
        at=sorted({exponent for span in asked for exponent in span}),
    )


def _contention(
    found: Findings, over: Named, under: Named, sentence: str, low: float, high: float
) -> page.Answer:
    factor = found.ratio_of_ratios(over.name, under.name, high, low)
    kept = [found.across_treatments(contestant.name, high, low) for contestant in (over, under)]
    if factor is None or kept[0] is None or kept[1] is None:
        return page.Answer(Html("Not answered by this run: a needed cell has no valid trial."))
    names = [versioned_label(found, contestant) for contestant in found.contestants((over, under))]
    texts = {
        "factor": page.estimate(factor.as_factor()),
        "kept_over": page.estimate(kept[0].as_percent()),
        "kept_under": page.estimate(kept[1].as_percent()),
        "over": names[0],
        "under": names[1],
        "low": found.at(low),
        "high": f"{high:g}",
    }
    text = Html.escape(sentence)
    for name, told in texts.items():
        text = text.replace(f"{{{name}}}", told)
    span = f"{found.at(high)} against {found.at(low)}"
    cited = [
        page.Cited(
            f"{names[0]} ÷ {names[1]}, growth of the ratio, {span}",
            factor.as_factor(),
            factor.n,
            source=RatioOfRatios(over.name, under.name, high, low),
        ),
        *(
            page.Cited(
                f"{label}, goodput kept, {span}",
                part.as_percent(),
                part.n,
                source=Kept(contestant.name, high, low),
            )
            for label, part, contestant in zip(names, kept, (over, under), strict=True)
            if part is not None
        ),
    ]
    return page.Answer(text, tuple(cited))
