"""What can be learnt in the lab: a model, its data and settings that go well. A task takes part by lying here and offering ``TASK``."""
