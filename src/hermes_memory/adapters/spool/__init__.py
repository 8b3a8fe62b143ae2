"""The durable local journal: an SQLite file per home and destination, with its locks, its codec and its rescue."""
