"""What happened at one failure, in seven parts, and what to change: computed here as plain data, rendered in ``report``."""
