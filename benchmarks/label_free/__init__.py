"""Studies behind the defaults: run from the project's root, not installed."""
