"""Short texts in pairs that say the same, of the kinds and in some of the languages a memory holds."""

from __future__ import annotations

from typing import Final

PARAPHRASES: Final[tuple[tuple[str, str], ...]] = (
    ("When does the quarterly report have to be handed in?", "The quarterly report is due on 14 April."),
    ("Lena is allergic to peanuts.", "Peanuts make Lena ill, she has an allergy."),
    ("Which port does the staging database listen on?", "The staging database listens on port 5433."),
    ("The customer wants the invoice in Swiss francs.", "Please bill this client in CHF, as they asked."),
    ("Deploys are frozen from Friday evening on.", "No releases after Friday evening until further notice."),
    ("Let's meet at the north entrance at nine.", "We will see each other at 9 am by the north door."),
    ("Wo liegt der Ersatzschlüssel für das Lager?", "Der Ersatzschlüssel zum Lager hängt hinter der Garderobe."),
    ("Die Heizung im Besprechungsraum ist kaputt.", "Im Konferenzzimmer funktioniert die Heizung nicht."),
    ("Quel est le régime alimentaire de Paul ?", "Paul est végétarien, il ne mange pas de viande."),
    ("El vuelo a Lima sale a las seis de la mañana.", "Nuestro avión hacia Lima despega a las 6:00."),
    ("会议改到星期三下午三点。", "开会时间推迟到周三15点。"),
    ("猫の予防接種はいつですか。", "猫のワクチンは来月の十日に打ちます。"),
    ("def mean(xs): return sum(xs) / len(xs)", "function that computes the average of a list of numbers"),
    (
        "ERROR pool.py:88 connection refused (errno 111), retrying in 5 s",
        "The connection pool could not connect, connection refused; it tries again after five seconds.",
    ),
    ("git rebase --onto main feature~3 feature", "rebase the last three commits of the feature branch onto main"),
    ("I prefer short answers without bullet points.", "Keep replies brief and do not use lists, please."),
)
"""Sixteen pairs about sixteen matters: a text and what is said elsewhere in other words.

Questions with their answers are among them, because that is what recall compares.
"""
