"""Finds what was asked for among notes and agents' sessions in six languages."""
