"""The store on Postgres with pgvector.

One module per table family; every statement stands beside the function that runs it. The runtime logs in as an
unprivileged role, and row-level security repeats the visibility rule that every statement spells out itself.
"""

from __future__ import annotations
