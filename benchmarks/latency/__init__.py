"""How long an answer takes, from the question in words to the memories, beside the peer."""
