"""One module per container that a log can come in; each has a ``FORMAT``."""
