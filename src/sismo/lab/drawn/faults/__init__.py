"""Eleven ways in which a training run breaks, one file each; every file offers ``RECIPE``."""
