"""Implementations of the ports: Postgres, SQLite spool, embedders, embedded server, in-memory."""
