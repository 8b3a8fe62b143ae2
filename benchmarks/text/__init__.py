"""The text leg at size: what a query costs, how close it comes to exact BM25, and what folding changes."""
