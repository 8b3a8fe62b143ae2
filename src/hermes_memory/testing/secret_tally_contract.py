"""What `SecretTally` promises, to be run against every adapter."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hermes_memory.ports.secrets import SecretTally, SecretTotals


class SecretTallyContract:
    """The promises. A subclass supplies the fixture `tally`: fresh and empty each time."""

    def test_counts_add_up_by_kind_and_by_what_became_of_the_text(self, tally: SecretTally) -> None:
        tally.note({"jwt": 1, "password": 2}, refused=False)
        tally.note({"jwt": 3}, refused=False)
        tally.note({"jwt": 1}, refused=True)

        assert tally.totals() == SecretTotals(redacted={"jwt": 4, "password": 2}, refused={"jwt": 1})

    def test_where_nothing_was_found_nothing_is_counted(self, tally: SecretTally) -> None:
        before = tally.totals()
        tally.note({}, refused=False)

        assert before == tally.totals() == SecretTotals()

    def test_what_was_told_once_stays_as_it_was_told(self, tally: SecretTally) -> None:
        found = {"jwt": 1}
        tally.note(found, refused=False)
        told = tally.totals()
        found["jwt"] = 7
        tally.note({"jwt": 1}, refused=False)

        assert told == SecretTotals(redacted={"jwt": 1})
        assert tally.totals() == SecretTotals(redacted={"jwt": 2})

    def test_no_count_of_any_thread_is_lost(self, tally: SecretTally) -> None:
        with ThreadPoolExecutor(4) as threads:
            for refused in (True, False) * 40:
                threads.submit(tally.note, {"jwt": 1}, refused=refused)

        assert tally.totals() == SecretTotals(redacted={"jwt": 40}, refused={"jwt": 40})
