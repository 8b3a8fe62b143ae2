"""Readers of other memories. They open them for reading alone."""
