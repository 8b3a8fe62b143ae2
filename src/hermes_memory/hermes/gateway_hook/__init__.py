"""A copy of this directory is the gateway hook `$HERMES_HOME/hooks/hermes-memory/`."""
