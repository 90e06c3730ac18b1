"""Runs that go well and look odd. A kind takes part by lying here and offering ``HEALTHY``."""
