"""Contract of `Spool`: what is accepted comes out, in order, until it is done with."""

from __future__ import annotations

import threading
from dataclasses import replace

from hermes_memory.ports.spool import Spool
from hermes_memory.testing.making import (
    DESK,
    add,
    stamp,
)
from hermes_memory.testing.spool_bounds_contract import SpoolBoundsContract
from hermes_memory.testing.spool_letters_contract import SpoolLettersContract
from hermes_memory.testing.spool_order_contract import SpoolOrderContract
from hermes_memory.testing.spool_suite import Clock, due, ids, put

__all__ = ["Clock", "SpoolContract", "due", "ids", "put"]


class SpoolContract(SpoolOrderContract, SpoolLettersContract, SpoolBoundsContract):
    """What every `Spool` keeps. A subclass says how to make an empty one."""

    def test_any_thread_may_put_and_done(self, spool: Spool) -> None:
        failures: list[Exception] = []

        def work(number: int) -> None:
            try:
                operations = put(spool, *(add(f"{number} {index}", DESK) for index in range(20)))
                spool.done(ids(*operations[::2]))
                spool.postpone(ids(operations[1]), 1)
                spool.due(10)
            except Exception as error:  # noqa: BLE001 - handed to the thread that judges
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failures == []
        assert (spool.status().accepted, spool.status().depth) == (160, 80)

    def test_an_operation_with_the_same_content_is_another_one(self, spool: Spool) -> None:
        (first,) = put(spool, add("one"))
        (second,) = put(spool, replace(first, stamp=stamp()))

        assert due(spool) == [first, second]

    def test_closing_twice_does_nothing(self, spool: Spool) -> None:
        put(spool, add("one"))

        spool.close()
        spool.close()
