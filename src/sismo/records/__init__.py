"""What a run is, in memory and on disk."""
