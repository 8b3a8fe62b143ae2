"""The tables of the benchmark, and which targets are met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks.kit.figures import ratio, shown
from benchmarks.kit.report import Line, at_least, at_most

Record = dict[str, Any]

THEME_RECALL: Final = 0.98
ALL_RECALL: Final = 0.97
THEME_MS: Final = ((100_000, 10.0), (400_000, 20.0))
ALL_MS: Final = 50.0
ALL_THEMES: Final = "all themes"


def places(records: Sequence[Record]) -> str:
    """Render one line a place, with both sides."""
    peer = {one["place"]: one for one in records if one["side"] == "peer"}
    head = (
        "| Asked | Rows | R@10 near | far | R@100 | p50, ms | p99 | CPU p50 | CPU p99 "
        "| Peer: R@10 near | far | p50, ms | p99 | CPU p50 | CPU p99 | fewer |"
    )
    lines = [_place(one, peer.get(one["place"])) for one in records if one["side"] == "ours"]
    return "\n".join([head, "|---|" + "---:|" * 15, *lines])


def targets(results: Record) -> list[Line]:
    """Return what is asked of the vector leg, and whether it is met."""
    return [line for state in ("before", "after") if state in results for line in _targets(results[state], state)]


def _targets(records: Sequence[Record], state: str) -> Iterator[Line]:
    said = "" if state == "before" else ", after deletions and writes"
    own, other = (_of(records, side) for side in ("ours", "peer"))
    small = {side: [one for one in found if one["place"] != ALL_THEMES] for side, found in own.items()}
    themes, peers = small["theme"], [one for one in other["theme"] if one["place"] != ALL_THEMES]
    for what, lines, theirs, wanted in (
        ("worst theme", themes, peers, THEME_RECALL),
        ("a contact's rows", own["contact"], [], THEME_RECALL),
        ("all themes", own["all"], other["all"], ALL_RECALL),
    ):
        found = _worst(lines)
        yield Line(
            what=f"recall@10, {what}{said}",
            ours=found,
            other=_worst(theirs),
            ratio=ratio(found, _worst(theirs)),
            target=f"≥ {wanted}",
            met=at_least(found, wanted),
        )
    least = 0
    for most, limit in THEME_MS:
        yield from _slowest(
            [one for one in themes if least < one["rows"] <= most], peers, f"themes to {most:,} rows{said}", limit
        )
        least = most
    yield from _slowest(own["all"], other["all"], f"all themes{said}", ALL_MS)
    for key, what in (("fewer", "answers with fewer rows than there are"), ("changed", "answers that changed later")):
        counts = [sum(one[key] for group in side.values() for one in group) for side in (own, other)]
        yield Line(
            what=f"{what}{said}",
            ours=counts[0],
            other=counts[1] if other["theme"] else None,
            target="0",
            met=counts[0] == 0,
        )


def _slowest(own: Sequence[Record], other: Sequence[Record], what: str, limit: float) -> Iterator[Line]:
    """Compare the slowest place with the same one of the peer."""
    if not own:
        return
    slowest = max(own, key=lambda one: float(one["wall_ms"]["p99"]))
    theirs = next((one for one in other if one["place"] == slowest["place"]), None)
    peer_ms = theirs["wall_ms"]["p99"] if theirs else None
    found = slowest["wall_ms"]["p99"]
    cpu = max((one["cpu_ms"]["p99"] for one in own if one["cpu_ms"]), default=None)
    yield Line(
        what=f"p99, {what}, ms (the server's processor {shown(cpu)})",
        ours=found,
        other=peer_ms,
        ratio=ratio(found, peer_ms),
        target=f"≤ {limit:g}",
        met=at_most(found, limit),
    )


def _of(records: Sequence[Record], side: str) -> dict[str, list[Record]]:
    """Part the records of a side into those of themes, of contacts, and of all themes."""
    groups: dict[str, list[Record]] = {"theme": [], "contact": [], "all": []}
    for one in records:
        if one["side"] == side:
            name = one["place"]
            groups["all" if name == ALL_THEMES else "contact" if name.startswith("a contact") else "theme"].append(one)
    return groups


def _worst(records: Sequence[Record]) -> float | None:
    return min((one[key] for one in records for key in ("recall_near", "recall_far")), default=None)


def _place(own: Record, peer: Record | None) -> str:
    cells = [own["place"], shown(own["rows"]), _share(own["recall_near"]), _share(own["recall_far"])]
    cells += [_share(own["recall_at_depth"]), *_times(own)]
    if peer is None:
        cells += ["–"] * 7
    else:
        cells += [_share(peer["recall_near"]), _share(peer["recall_far"]), *_times(peer)]
        cells.append(f"{peer['fewer'] / peer['answers']:.0%}")
    return "| " + " | ".join(cells) + " |"


def _share(value: float) -> str:
    return f"{value:.3f}"


def _times(one: Record) -> list[str]:
    return [shown((one[key] or {}).get(part)) for key in ("wall_ms", "cpu_ms") for part in ("p50", "p99")]
