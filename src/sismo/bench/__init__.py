"""The yardsticks: synthetic faults, healthy runs, real cases and speed. Each prints a table and ends with 1 when it misses its target."""
