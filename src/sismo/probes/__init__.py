"""Experiments on a model, a checkpoint and a batch: each proves one thing that a log can only suggest, and leaves everything as it was."""
