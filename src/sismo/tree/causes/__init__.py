"""The causes, one family per file."""
