"""Moving out: a memory written to a file that anybody can read."""
