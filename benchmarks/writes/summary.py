"""The table of the write benchmark, and which targets are met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.kit.figures import ratio
from benchmarks.kit.report import Line, at_least, at_most
from benchmarks.writes.accept import IN_A_ROW, NOW_AND_THEN

Results = dict[str, Any]

ACCEPT_RATIO, ACCEPT_NORMAL_MS = 1.5, 0.1
DELIVERED_A_SECOND = 1_500.0
EMBEDDED_RATIOS = {30: 20.0, 200: 100.0}


def lines(results: Results) -> list[Line]:
    """Return the lines of the table, of what was measured."""
    parts = {
        "accept": _accept,
        "throughput": _throughput,
        "burst": _burst,
        "backlog": _backlog,
        "footprint": _footprint,
    }
    return [line for name, part in parts.items() if name in results for line in part(results[name])]


def _accept(accept: Results) -> Iterator[Line]:
    found = accept["summary"]
    if not found:
        return
    for pace in (IN_A_ROW, NOW_AND_THEN):
        peer = found.get(f"peer, {pace}", {})
        for sync in ("FULL", "NORMAL"):
            own = found[f"ours {sync}, {pace}"]
            yield from _accept_lines(f"accept {pace}, {sync}", own, peer)


def _accept_lines(what: str, own: Results, peer: Results) -> Iterator[Line]:
    if own["bare_p50_ms"] is None:
        target, met = f"≤ {ACCEPT_NORMAL_MS:g}", at_most(own["p50_ms"], ACCEPT_NORMAL_MS)
        yield _line(f"{what}: p50, ms", own["p50_ms"], peer.get("p50_ms"), target, met)
    else:
        yield _line(f"{what}: p50, ms", own["p50_ms"], peer.get("p50_ms"))
        yield Line(
            what=f"{what}: p50 against a bare fdatasync, {own['bare_p50_ms']:.2f} ms",
            ours=own["p50_ms"],
            ratio=own["ratio_p50"],
            target=f"≤ {ACCEPT_RATIO} times",
            met=at_most(own["ratio_p50"], ACCEPT_RATIO),
        )
    yield _line(f"{what}: p99, ms", own["p99_ms"], peer.get("p99_ms"))


def _throughput(throughput: Results) -> Iterator[Line]:
    for one in throughput["summary"]:
        latency = one["latency_ms"]
        yield _line(
            f"rows delivered a second, endpoint at {latency} ms",
            one["ours_delivered"],
            one["peer_delivered"],
            f"≥ {DELIVERED_A_SECOND:,.0f}",
            at_least(one["ours_delivered"], DELIVERED_A_SECOND),
        )
        wanted = EMBEDDED_RATIOS.get(latency)
        yield _line(
            f"rows embedded a second, endpoint at {latency} ms",
            one["ours_embedded"],
            one["peer_embedded"],
            f"≥ {wanted:.0f} times" if wanted else "",
            at_least(one["embedded_ratio"], wanted) if wanted else None,
        )


def _burst(burst: Results) -> Iterator[Line]:
    for killed in (False, True):
        found = {one["side"]: one for one in burst["summary"] if one["killed"] == killed}
        own, peer = found["ours"], found.get("peer", {})
        if own["said_rows"] is None:
            continue
        what = f"burst of {own['said_rows']:,.0f} rows, {'kill -9 right after' if killed else 'orderly end'}"
        yield Line(
            what=f"{what}: rows lost",
            ours=own["lost_rows"],
            other=peer.get("lost_rows"),
            target="0",
            met=own["lost_rows"] == 0,
        )
        yield Line(
            what=f"{what}: rows doubled",
            ours=own["doubled_rows"],
            other=peer.get("doubled_rows"),
            target="0",
            met=own["doubled_rows"] == 0,
        )
        yield _line(f"{what}: a call's p50, ms", own["p50_ms"], peer.get("p50_ms"))
        yield _line(f"{what}: a call's p99, ms", own["p99_ms"], peer.get("p99_ms"))


def _backlog(backlog: Results) -> Iterator[Line]:
    for run in backlog["runs"]:
        came = "" if run["seconds"] else f" (time was up at {run['stored_rows']:,})"
        yield Line(what=f"emptying a spool of {run['writes']:,} writes, s{came}", ours=run["seconds"])
        yield Line(what="rows delivered a second from it", ours=run["delivered_per_second"])


def _footprint(footprint: Results) -> Iterator[Line]:
    for sessions in sorted({run["sessions"] for run in footprint["runs"]}):
        found = {run["side"]: run for run in footprint["runs"] if run["sessions"] == sessions}
        own, peer = found.get("ours"), found.get("peer")
        if own is None:
            continue
        short = peer is not None and peer["opened"] < sessions
        note = f" (the peer's first {peer['opened']:,} in {peer['open_seconds']:.0f} s)" if peer and short else ""
        for key, label in (("connections", "connections"), ("threads", "threads")):
            yield _line(f"{sessions:,} sessions: {label}{note}", own[key], peer[key] if peer else None)
        yield _line(
            f"{sessions:,} sessions: p50 of `initialize`, ms",
            own["initialize_p50_ms"],
            peer["initialize_p50_ms"] if peer else None,
        )


def _line(what: str, ours: float | None, peer: float | None, target: str = "", met: bool | None = None) -> Line:
    return Line(what=what, ours=ours, other=peer, ratio=ratio(ours, peer), target=target, met=met)
