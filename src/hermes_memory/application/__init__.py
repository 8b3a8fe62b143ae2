"""The use cases, one verb a module: they orchestrate ports and domain rules and know no driver."""
