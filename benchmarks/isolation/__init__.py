"""What keeping people apart costs: the wall, stamping, redaction and history, as ratios."""
