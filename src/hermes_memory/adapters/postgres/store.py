"""All store ports over one pool."""

from __future__ import annotations

from hermes_memory.adapters.postgres.delivery import PostgresDelivery
from hermes_memory.adapters.postgres.embedding_queue import PostgresEmbeddingQueue
from hermes_memory.adapters.postgres.entries import Analyze
from hermes_memory.adapters.postgres.inspector import PostgresInspector
from hermes_memory.adapters.postgres.people import PostgresPeople
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.reader import PostgresReader
from hermes_memory.adapters.postgres.search import PostgresSearch
from hermes_memory.adapters.postgres.text_search import POSTINGS_BUDGET
from hermes_memory.adapters.postgres.vector_plan import EXACT_ROWS


class PostgresStore:
    """A whole store on Postgres. Making one does nothing; close the pool when done.

    Args:
        pool: Connections of the runtime role.
        analyze: Turns a text into its lexemes, repetitions kept. Queries must come through the same analyser.
        write_timeout: Seconds that a batch of writes, or a worker's call, may take.
        postings_budget: Postings that a text search reads, about.
        exact_rows: Rows of a space up to which a vector search computes every distance.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        analyze: Analyze,
        write_timeout: float = 30.0,
        postings_budget: int = POSTINGS_BUDGET,
        exact_rows: int = EXACT_ROWS,
    ) -> None:
        self.pool = pool
        self.delivery = PostgresDelivery(pool, analyze=analyze, timeout=write_timeout)
        self.search = PostgresSearch(pool, postings_budget=postings_budget, exact_rows=exact_rows)
        self.reader = PostgresReader(pool)
        self.queue = PostgresEmbeddingQueue(pool, timeout=write_timeout)
        self.people = PostgresPeople(pool)
        self.inspector = PostgresInspector(pool, timeout=write_timeout)
