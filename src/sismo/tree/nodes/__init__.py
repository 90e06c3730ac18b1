"""The questions, one branch of a tree per file."""
