"""The demonstration: a small company's agents and contacts remember, through the hard death of a process."""
