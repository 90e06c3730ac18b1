"""The moments of a training loop that the recorder can hook into: one vocabulary, in the order in which they happen."""

from __future__ import annotations

from enum import StrEnum


class Moment(StrEnum):
    """A moment of the loop. A panel takes part in one by defining the method ``on_<value>``.

    ```text
    with Recorder(model, optimizer, "runs/a") as rec:
        for batch in loader:
            for part in batch:                    # gradient accumulation: only the first part is looked at
                scores = model(part)              # INPUTS      the model is called in training, with these arguments; or a part of it
                loss = cross_entropy(scores, y)   # CRITERION   a criterion of torch's, by name, gets scores and targets
                scaler.scale(loss).backward()     # BACKWARD    a loss with its graph, and what it was multiplied by
                                                  #             (taps on single layers are set by the panels themselves)
            scaler.unscale_(optimizer)
            clip_grad_norm_(...)                  # CLIPPED     norm before clipping and threshold are known
            scaler.step(optimizer)                # BEFORE_UPDATE  gradients are final, weights are old
                                                  # AFTER_UPDATE   weights are new, gradients are still there
                                                  # SKIPPED     instead of these two, when the scaler found an overflow
            scaler.update()
            val = evaluate(model)                 # EVALUATED   the model is called without gradients, here where it is evaluated
            rec.step(loss)                        # STEP        everything measured since the last STEP becomes one row
    ```
    """

    INPUTS = "inputs"
    CRITERION = "criterion"
    BACKWARD = "backward"
    CLIPPED = "clipped"
    BEFORE_UPDATE = "before_update"
    AFTER_UPDATE = "after_update"
    SKIPPED = "skipped"
    EVALUATED = "evaluated"
    STEP = "step"
