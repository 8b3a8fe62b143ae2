"""Measurements of the library beside others, all run by `python -m benchmarks NAME`."""
