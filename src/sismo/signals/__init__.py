"""What the numbers say: statistics over series, and the detectors that turn them into observations."""
