"""Small models that read like a textbook, one a file."""
