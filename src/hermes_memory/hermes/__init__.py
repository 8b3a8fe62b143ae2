"""Everything that knows the Hermes host: provider, runtime thread, tools, configuration schema, installation."""
