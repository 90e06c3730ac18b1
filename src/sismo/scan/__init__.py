"""Many finished runs at once: finds them, judges each on every core or a cluster, and sums up what fails, since when, by which config."""
