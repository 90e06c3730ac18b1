"""Ids that were renamed: old to new. A line here is never removed."""

REDIRECTS: dict[str, str] = {}
