"""Shared, durable, searchable memory for Hermes agents on Postgres and pgvector."""
