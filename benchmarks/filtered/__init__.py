"""What the vector leg finds in themes of every size, and what it costs, beside the peer's vector search."""
