"""The demonstration's results as a short story."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hermes_memory.demo.crash import Aftermath
from hermes_memory.demo.report import Answer, Guarded, Promise, Report, source_of
from hermes_memory.demo.terminal import COLUMNS, Style, Terminal, fit, paragraph
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.noise import display_width

INDENT: Final = 4
_LABEL: Final = 28
_SHOWN_HITS: Final = 2


class Story:
    """Tells what happens, as it happens."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._chapter = 0

    def title(self, text: str, below: str) -> None:
        """Begin."""
        self._terminal.line((text, Style.BOLD))
        self._terminal.line((below, Style.DIM))

    def chapter(self, text: str) -> None:
        """Begin a numbered part."""
        self._chapter += 1
        self._terminal.line()
        self._terminal.line((f"{self._chapter}  {text}", Style.BOLD))

    def remark(self, text: str) -> None:
        """Say something in passing."""
        for line in paragraph(text, COLUMNS - INDENT, 4):
            self._terminal.line(" " * INDENT, (line, Style.DIM))

    def fact(self, label: str, value: object) -> None:
        """Show a figure with its name."""
        room = COLUMNS - INDENT - _LABEL
        self._terminal.line(" " * INDENT, label + " " * (_LABEL - display_width(label)), fit(str(value), room))

    def promise(self, promise: Promise) -> None:
        """Show a promise and whether it was kept."""
        self._terminal.line("  ", _mark(promise.kept), " ", fit(promise.text, COLUMNS - INDENT))

    def answer(self, answer: Answer, *, judged: bool = True) -> None:
        """Show a question and the best of what came back."""
        question, took = answer.question, f"{answer.seconds * 1000:.0f} ms"
        who = f"@{question.who}  "
        text = fit(question.text, COLUMNS - INDENT - len(who) - len(took) - 2)
        gap = " " * (COLUMNS - INDENT - len(who) - display_width(text) - len(took))
        mark = _mark(answer.kept) if judged else (" ", Style.PLAIN)
        self._terminal.line()
        self._terminal.line("  ", mark, " ", (who, Style.NAME), (text, Style.BOLD), gap, (took, Style.DIM))
        about = f"{answer.asker}: {question.about}" if question.about else answer.asker
        self._terminal.line(" " * INDENT, (fit(about, COLUMNS - INDENT), Style.DIM))
        for note in answer.degraded:
            self._terminal.line(" " * INDENT, (fit(note, COLUMNS - INDENT), Style.BAD))
        self._hits(answer)

    def wall(self, guarded: Guarded) -> None:
        """Show an attempt at a wall and what came of it."""
        self._terminal.line("  ", _mark(guarded.held), " ", fit(f"{guarded.who} {guarded.attempt}", COLUMNS - INDENT))
        for line in paragraph(guarded.outcome, COLUMNS - INDENT - 2, 2):
            self._terminal.line(" " * (INDENT + 2), (line, Style.DIM))

    def crash(self, crash: Aftermath) -> None:
        """Show what became of the killed worker's writes."""
        self.fact("receipts it had handed out", crash.receipts)
        self.fact("accepted in truth", f"{crash.accepted}{_unreported(crash)}")
        self.fact("in Postgres when it died", crash.in_store)
        self.fact("only in the spool on disk", crash.in_spool - crash.in_both)
        if crash.in_both:
            self.fact("in both, delivered twice", f"{crash.in_both}: stored once all the same")
        self.fact("stored after the new start", f"{crash.stored}, in {crash.seconds:.1f} s")

    def end(self, report: Report) -> None:
        """Sum up, and name every promise that was broken."""
        for promise in report.broken:
            self._terminal.line("  ", _mark(False), " ", (fit(promise.text, COLUMNS - INDENT), Style.BAD))
        self._terminal.line()
        if report.kept:
            self._terminal.line((f"All {len(report.promises)} promises above were verified.", Style.GOOD))
        else:
            count = f"{len(report.broken)} of {len(report.promises)} promises"
            self._terminal.line((f"BROKEN: {count} did not hold; they are named above.", Style.BAD))

    def _hits(self, answer: Answer) -> None:
        """Show the best row, the expected one, and outdated ones; the expected one in full."""
        found = next((hit for hit in answer.hits if answer.question.expected in hit.row.content), None)
        for place, hit in enumerate(answer.hits):
            if place < _SHOWN_HITS or hit is found or hit.superseded_by:
                self._hit(hit, expected=answer.question.expected, full=hit is (found or answer.hits[0]))
        if not answer.hits:
            self._terminal.line(" " * INDENT, ("nothing", Style.DIM))

    def _hit(self, hit: Ranked, *, expected: str, full: bool) -> None:
        score = f"{hit.score:.2f}  "
        date = f"{hit.row.at:%Y-%m-%d}  "
        source = source_of(hit) + (" (corrected since)" if hit.superseded_by else "")
        room = COLUMNS - INDENT - len(score)
        if not full:
            text = fit(f"{source}: {hit.row.content}", room - len(date))
            self._terminal.line(" " * INDENT, (f"{score}{date}{text}", Style.DIM))
            return
        self._terminal.line(" " * INDENT, (score, Style.GOOD), date, fit(source, room - len(date)))
        for line in paragraph(hit.row.content, room, 2, around=expected):
            self._terminal.line(" " * (INDENT + len(score)), (line, Style.BOLD))


def listed(counts: Iterable[tuple[int, str]]) -> str:
    """Say counts of things in a row, as in "12 notes, 1 message"."""
    return ", ".join(f"{count:,} {name}{'' if count == 1 else 's'}" for count, name in counts)


def _mark(good: bool) -> tuple[str, Style]:
    return ("✓", Style.GOOD) if good else ("✗", Style.BAD)


def _unreported(crash: Aftermath) -> str:
    missing = crash.accepted - crash.receipts
    return f" ({missing} whose receipt did not get out any more)" if missing else ""
