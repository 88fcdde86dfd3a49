"""What proves a chapter: everything that its run recorded of how its numbers came to be, for all chapters alike.

A section appears where the record has something to show in it. The book puts all of it on a page of its own, and the
first line with its link on the page of the chapter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from gapbook.markup import Html, SupportsHtml, link
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.pages.choices import explorer_address
from gapbook.pages.exhibits.comparisons import Pair
from gapbook.pages.exhibits.flaws import metrics_table
from gapbook.pages.exhibits.rates import catch_up_table, goodput_table, retries_table
from gapbook.pages.exhibits.travelled import travelled
from gapbook.pages.first_screen import provenance_line
from gapbook.pages.losses.copies import copies_table
from gapbook.pages.losses.cuts import cuts_table, faults_table
from gapbook.pages.losses.kills import kill_table
from gapbook.pages.page import refused_table
from gapbook.pages.proof.audited import audited, uncounted
from gapbook.pages.proof.every_trial import every_trial, trials_of
from gapbook.pages.proof.failures import any_failure, failures_table
from gapbook.pages.proof.gates import gates_chart
from gapbook.pages.proof.let_in import gates_to_let_in, let_in_table
from gapbook.pages.proof.on_what import machine_table
from gapbook.pages.proof.processor import processor_table
from gapbook.pages.proof.servers import systems_table
from gapbook.pages.proof.sessions import sessions_table
from gapbook.pages.proof.warmth import warmth_table
from gapbook.pages.versions import versioned_label
from gapbook.pages.who import who_table
from gapbook.pages.words import listed_html, operation_of, operations_of, state_row_of
from gapbook.record.scenario import RecordedContestant
from gapbook.record.schema import Manifest

__all__ = ["Proof", "Section", "proof"]


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    parts: tuple[SupportsHtml, ...]


@dataclass(frozen=True)
class Proof:
    """What a chapter shows of its proof: a line on its own page, and sections for the page of its trials."""

    line: Html
    sections: tuple[Section, ...]

    def _ipython_display_(self) -> None:
        # Imported here: command line and tests need not wait for it.
        from IPython.display import display  # noqa: PLC0415

        show: Callable[..., None] = display
        show(self.line)
        for section in self.sections:
            show({"text/markdown": f"## {section.title}"}, raw=True)
            for part in section.parts:
                show(part)


@dataclass(frozen=True)
class _Asked:
    """The run, the comparisons that its chapter makes, and what its contestants are called there."""

    found: Findings
    comparisons: Sequence[Pair]
    labels: Mapping[str, str] = field(default_factory=dict)
    gap: Sequence[Factor] = ()

    @property
    def operation(self) -> str:
        return operation_of(self.found.scenario.workload)

    @property
    def operations(self) -> str:
        return operations_of(self.found.scenario.workload)

    @property
    def measured(self) -> list[RecordedContestant]:
        """Contestants with a trial, be it refused."""
        tried = set(self.found.run.trials["contestant"])
        return [one for one in self.found.scenario.contestants if one.name in tried]

    def called(self, one: RecordedContestant) -> str:
        return self.labels.get(one.name, one.system_label)


def proof(
    found: Findings,
    comparisons: Sequence[Pair] = (),
    labels: Mapping[str, str] | None = None,
    *,
    gap: Sequence[Factor] = (),
) -> Proof:
    """All that the run's record has to prove a chapter with. ``comparisons`` are those that the chapter answers with;
    ``labels`` what it calls contestants, by their names; ``gap`` the factors that it takes its gap apart into."""
    asked = _Asked(found, comparisons, labels or {}, gap)
    return Proof(_line(asked), tuple(section for make in _SECTIONS for section in make(asked)))


def _line(asked: _Asked) -> Html:
    found = asked.found
    trials = found.run.trials
    return Html('<p class="gb-proof">{} of {} trials count: {}.{}</p>').format(
        f"{int(trials['valid'].sum()):,}",
        f"{trials.height:,}",
        link(f"{trials_of(found.scenario.chapter)}.html", "every trial"),
        _explorer(asked),
    )


def _explorer(asked: _Asked) -> Html:
    """Where a reader sets both sides of the chapter's first comparison otherwise; nothing for a run that the explorer does
    not hold."""
    found = asked.found
    if not (asked.comparisons and found.run.published and found.scenario.workload.accounts):
        return Html("")
    measured = [found.scenario.find(one.name) for one in asked.comparisons[0][1:]]
    sides = [(one, versioned_label(found, one)) for one in measured if one is not None]
    if len(sides) < len(measured):
        return Html("")
    over, under = sides
    return Html(" {}").format(
        link(explorer_address(found, over, under, found.treatments[0]), "Set both sides otherwise")
    )


def _counted(asked: _Asked) -> Iterator[Section]:
    found = asked.found
    lead = Html(
        "<p>A <em>gate</em> is a check with a limit that was fixed before the run. A trial counts if no gate refuses it. "
        "A gate that refused some trials did its work: the others count. Refused trials are kept, and listed with the "
        "reason.</p>"
    )
    if found.scenario.workload.stores:
        lead += Html(
            "<p>After each trial, every answer that clients got was compared with what the server holds: {} agree. Servers "
            "count commits too: {}.</p>"
        ).format(audited(found), uncounted(found))
    parts = provenance_line(found), lead, gates_chart(found), refused_table(found.refused)
    yield Section("Which trials count?", parts)


def _shared(asked: _Asked) -> Iterator[Section]:
    """Cells that other chapters of the same campaign have too."""
    manifest = asked.found.run.manifest
    if manifest.measured_with:
        others = [name for name in manifest.measured_with.chapters if name != manifest.chapter]
        lead = Html(
            "<p>This chapter was measured together with {}. Where several of them ask for the same contestant, it was "
            "measured once: the trials here are the trials there, with the same numbers.</p>"
        ).format(listed_html([link(f"{name}.html", name) for name in others]))
        yield Section("Which chapters share these trials?", (lead,))


def _let_in(asked: _Asked) -> Iterator[Section]:
    gates = gates_to_let_in(asked.found, asked.comparisons)
    if gates:
        lead = Html(
            "<p>A gate can fall on one side of a comparison more often than on the other. Each table lets in the trials "
            "that one gate alone refused, and shows how far that moves the ratio.</p>"
        )
        tables = [let_in_table(asked.found, asked.comparisons, gate) for gate in gates]
        yield Section("Does a gate move a ratio?", (lead, *tables))


def _sessions(asked: _Asked) -> Iterator[Section]:
    if asked.comparisons and len(asked.found.sessions) > 1:
        lead = Html("<p>A <em>session</em> starts every server afresh, at another time.</p>")
        yield Section(
            "How much do the sessions differ?", (lead, sessions_table(asked.found, asked.comparisons))
        )


def _travelled(asked: _Asked) -> Iterator[Section]:
    if not (asked.gap and asked.found.run.published):
        return
    by_treatment = [travelled(asked.found, asked.gap, value) for value in asked.found.treatments]
    if any(by_treatment):
        lead = Html(
            "<p>Each number is a mean over the runs of a processor that close the gap under the same load, over the "
            "combinations that all of them measured. Where the page has more of them, its factors differ.</p>"
        )
        yield Section("Do the parts of the gap hold on another machine?", (lead, *filter(None, by_treatment)))


def _every(asked: _Asked) -> Iterator[Section]:
    yield Section("Every trial", every_trial(asked.found, asked.measured, asked.called))


def _noise(asked: _Asked) -> Iterator[Section]:
    noise = asked.found.trial_noise()
    if noise is not None:
        shared = "None" if noise.shared_frac is None else f"{max(0.0, noise.shared_frac):.0%}"
        lead = Html(
            "<p>The rates of one setup have a standard deviation of {}. Of that variance, {} goes with the processor time "
            "that a {} took, as it must where all processors are busy. {} is shared with trials of other contestants that "
            "started within a minute. This widens every interval; random order keeps it from favouring anybody.</p>"
        ).format(f"{noise.spread:.0%}", f"{noise.explained_frac:.0%}", asked.operation, shared)
        yield Section("How much do equal trials differ?", (lead,))


def _who(asked: _Asked) -> Iterator[Section]:
    table = who_table(asked.found, [(asked.called(one), one) for one in asked.measured])
    yield Section("Who is who?", (table,))


def _rates(asked: _Asked) -> Iterator[Section]:
    lead = Html(
        "<p>Means over the trials that count. <em>Ended in the window</em> counts every answer, whenever it was asked "
        "for.</p>"
    )
    table = goodput_table(asked.found, *(one.name for one in asked.measured), labels=asked.labels)
    yield Section("How fast is each contestant?", (lead, table))


def _processors(asked: _Asked) -> Iterator[Section]:
    lead = Html(
        "<p>Load client, HTTP server and database share the processors: what one uses, the others lack. What a server "
        "uses anyway is divided among its {}: where they are few, each looks dear.</p>"
    ).format(asked.operations)
    table = processor_table(asked.found, asked.labels)
    yield Section(f"What does one {asked.operation} cost?", (lead, table))


def _warmth(asked: _Asked) -> Iterator[Section]:
    lead = Html(
        "<p>Code that is compiled while it runs, such as JavaScript, is slow at first. So the load warms up before the "
        "window opens.</p>"
    )
    yield Section("Was everything warm?", (lead, warmth_table(asked.found)))


def _catch_up(asked: _Asked) -> Iterator[Section]:
    worked = asked.found.run.trials.filter(pl.col("valid") & (pl.col("catch_up_s") > 0))
    if not worked.is_empty():
        lead = Html(
            "<p>A server can answer faster than it writes its log. After the load we wait until the log stops growing "
            "and the server is idle.</p>"
        )
        yield Section("Did servers keep up?", (lead, catch_up_table(asked.found)))


def _metrics(asked: _Asked) -> Iterator[Section]:
    if not asked.found.run.trials["metric_transactions"].drop_nulls().is_empty():
        lead = Html(
            "<p>A server's public metrics may count as committed what is no committed {}, such as one that was refused, "
            "or what read its state. No rate of this book comes from them.</p>"
        ).format(asked.operation)
        yield Section("What do the servers' own metrics count?", (lead, metrics_table(asked.found)))


def _copied(asked: _Asked) -> Iterator[Section]:
    table = copies_table(asked.found, [(asked.called(one), one) for one in asked.measured])
    if asked.found.tells("rows lost"):
        yield Section("What came back of the copies?", (table,))


def _failed(asked: _Asked) -> Iterator[Section]:
    found, parts = asked.found, list[SupportsHtml]()
    if found.run.trials.filter(pl.col("valid"))["retried"].sum():
        again = Html("<p>Servers refused some {} because of a collision. They were sent again.</p>")
        parts += [again.format(asked.operations), retries_table(found)]
    if failing := [one for one in asked.measured if any_failure(found, one)]:
        lead = Html("<p>What failed in all trials of a contestant, refused ones included.</p>")
        parts += [lead, failures_table(found, failing)]
    if parts:
        yield Section("What failed, and what was sent again?", tuple(parts))


def _killed(asked: _Asked) -> Iterator[Section]:
    if asked.found.run.manifest.kill_checks:
        lead = Html(
            "<p>Each server was killed under load and started again on the same files. Then every {} was read.</p>"
        ).format(state_row_of(asked.found.scenario.workload))
        table = kill_table(asked.found, asked.labels)
        yield Section("Did servers keep what they had acknowledged?", (lead, table))


def _cut(asked: _Asked) -> Iterator[Section]:
    cut = {row.contestant for row in asked.found.run.manifest.cut_checks}
    levels = [(asked.called(one), one) for one in asked.found.scenario.contestants if one.name in cut]
    if levels:
        lead = Html(
            "<p>The power was cut under load, and each server started on what its disk still had.</p>"
        )
        tables = cuts_table(asked.found, levels), faults_table(asked.found, levels)
        yield Section("What did power cuts take?", (lead, *tables))


def _servers(asked: _Asked) -> Iterator[Section]:
    lead = Html(
        "<p>Settings are read back from the running servers; none is copied from our own configuration.</p>"
    )
    yield Section("The servers", (lead, *_kept_out(asked.found.run.manifest), systems_table(asked.found)))


def _kept_out(manifest: Manifest) -> Iterator[Html]:
    """What of the shell could have changed servers and clients, had they got it."""
    environments = [one.environment for one in manifest.deployments if one.environment is not None]
    if names := sorted({name for environment in environments for name in environment.ignored}):
        yield Html(
            "<p>Servers and clients get no variable of the shell unless it is declared. It had these, which are known to "
            "change one of them: {}.</p>"
        ).format(", ".join(names))


def _machine(asked: _Asked) -> Iterator[Section]:
    lead = Html(
        "<p>Ratios move between machines. This is what the record knows of the one that measured. The disk is tried before "
        "the servers of a session start: a block of a file is overwritten and synced, again and again.</p>"
    )
    yield Section("The machine", (lead, machine_table(asked.found.run)))


_SECTIONS: tuple[Callable[[_Asked], Iterator[Section]], ...] = (
    _counted,
    _let_in,
    _sessions,
    _travelled,
    _noise,
    _every,
    _shared,
    _who,
    _rates,
    _processors,
    _warmth,
    _catch_up,
    _metrics,
    _copied,
    _failed,
    _killed,
    _cut,
    _servers,
    _machine,
)
