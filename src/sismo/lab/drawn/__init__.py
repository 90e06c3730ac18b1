"""Logs drawn by formula: synthetic faults, healthy families, and writers in real formats. No training, no torch."""
