"""Runs whose cause is known because it was put there."""
