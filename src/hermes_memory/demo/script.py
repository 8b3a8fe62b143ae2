"""What is asked in the demonstration, and what each answer has to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KEPT_BY_SALES: Final = "Hotel Seeblick wants its lamps by 22 May at the latest; the rooms upstairs come first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question and the promise that goes with it.

    Attributes:
        who: Name of the figure that asks.
        about: What the question shows.
        expected: Text that the answer holds.
        within: Among how many of the best hits.
        scope: Where to look, as in `View.recall`.
    """

    who: str
    text: str
    about: str
    expected: str
    within: int = 1
    scope: str = "current"


QUESTIONS: Final = (
    Question(
        who="marketing",
        text="When does Hotel Seeblick need its lamps?",
        about="what another agent of the theme kept a moment ago",
        expected="22 May",
    ),
    Question(
        who="marketing",
        text="When is the launch of the Halo?",
        about="a fact that was corrected: the later word counts",
        expected="9 May",
    ),
    Question(
        who="marketing",
        text="Who prints our packaging?",
        about="a note of MEMORY.md",
        expected="old brewery",
        within=3,
    ),
    Question(
        who="sales",
        text="Wie viel Rabatt geben wir dem Hotel Seeblick?",
        about="German",
        expected="12 Prozent Rabatt",
    ),
    Question(
        who="sales",
        text="样品什么时候寄出？",
        about="Chinese",
        expected="样品4月20日寄出",
        within=2,
    ),
    Question(
        who="sales",
        text="How much has the unit price of copper shades risen?",
        about="asked in English, answered by what was said in Chinese",
        expected="单价改为八十二元",
        within=2,
    ),
    Question(
        who="operations",
        text="Who is allowed to reboot the servers?",
        about="a paraphrase without a word in common, found by meaning",
        expected="Only you and the night shift",
        within=2,
    ),
    Question(
        who="operations",
        text="E40213",
        about="an error code out of a log",
        expected="E40213",
    ),
    Question(
        who="operations",
        text="What did we do about PAY-1187?",
        about="a ticket number",
        expected="PAY-1187",
    ),
    Question(
        who="operations",
        text="How did we get rid of the lag on db-fra-03?",
        about="a machine's name",
        expected="The lag of db-fra-03 fell from 412 s to 3 s",
        within=2,
    ),
    Question(
        who="operations",
        text="handlers/signing.py",
        about="a path out of a diff",
        expected="signing.py",
    ),
    Question(
        who="operations",
        text="Wann war die letzte Probe der Wiederherstellung?",
        about="German, among English logs",
        expected="12. Februar",
        within=2,
    ),
    Question(
        who="operations",
        text="LH-10042",
        about="a message from the burst, after the crash",
        expected="order LH-10042 paid",
    ),
    Question(
        who="telegram",
        text="What is the alarm code?",
        about="a contact's own secret",
        expected="7294",
    ),
    Question(
        who="whatsapp",
        text="When is my appointment at the hospital?",
        about="another contact's own secret",
        expected="16 April at 14:20",
    ),
)
