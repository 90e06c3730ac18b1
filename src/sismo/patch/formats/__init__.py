"""Kinds of configuration file: one module each, found by being there."""
