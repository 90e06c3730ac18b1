"""Families of healthy runs that look unusual, one file each; every file offers ``RECIPE``."""
