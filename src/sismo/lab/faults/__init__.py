"""Runs that go wrong in one known way. A fault takes part by lying here and offering ``FAULT``."""
