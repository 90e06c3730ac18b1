"""The lab: training runs with one known fault each, and healthy ones that look odd. ``drawn`` makes logs by formula; the rest trains."""
