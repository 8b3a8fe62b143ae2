"""The write path beside the peer's: what a caller waits, what arrives, how fast, and what is lost."""
