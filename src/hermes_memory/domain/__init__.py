"""Pure rules of the memory: what may exist, who may see it, how it is found and shown. Standard library only."""
