"""Data that is made up, deterministic by seed, and known exactly, one kind a file."""
