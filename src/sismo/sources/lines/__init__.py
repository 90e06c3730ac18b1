"""One module per kind of line that a text log can hold; each has a ``LINE``."""
