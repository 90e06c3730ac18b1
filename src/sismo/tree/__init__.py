"""What the numbers mean: the questions, the causes, and the walk from the first to the second."""
