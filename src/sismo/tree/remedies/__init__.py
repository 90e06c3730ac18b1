"""What is done about each cause: one module for each family of ``causes``, found by being there."""
