"""Metrics for the systems that watch a fleet."""
