"""A prescription as a patch of a configuration file: only what is known by name is changed, and nothing of the layout."""
