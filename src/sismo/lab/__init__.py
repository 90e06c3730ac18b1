"""Runs whose cause is known because it was put there: synthetic faults, healthy families, and writers in real formats."""
