"""The durable local journal: an SQLite file and its intake per home and destination, with locks, codec and rescue."""
