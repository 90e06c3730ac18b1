"""A million steps: a spike of one step is seen at full zoom-out, and the targets of size and speed hold with room."""

from __future__ import annotations

import numpy as np
from browser import made
from browser.conftest import Open, settled

from sismo.bench.page import MAX_BUILD, MAX_BYTES, big_run, flagging, measure
from sismo.records.types import Run, Series


def test_a_spike_of_one_step_in_a_million_is_visible(opened: Open) -> None:
    steps = 1_000_000
    values = 2 + 0.01 * np.random.default_rng(0).standard_normal(steps)
    values[612_345] = 9.0
    page = opened(Run("spike", made.healthy().header, {"loss/train": Series("loss/train", np.arange(steps), values)}))
    # The column of the spike has ink of the curve high above the noise; a column beside it has none there.
    found = page.evaluate(
        """(share) => {
          const canvas = document.querySelector('[data-plot="loss.0"] > canvas');
          const ratio = canvas.width / canvas.clientWidth;
          const box = { left: 58, top: 6, width: canvas.clientWidth - 68, height: canvas.clientHeight - 28 };
          const high = Math.round(box.height * 0.6 * ratio);
          const pixels = canvas.getContext("2d").getImageData(0, box.top * ratio, canvas.width, high).data;
          const blue = (x) => {
            let count = 0;
            for (let row = 0; row < high; row += 1) {
              for (let column = Math.round(x * ratio); column < Math.round(x * ratio) + 3; column += 1) {
                const i = 4 * (row * canvas.width + column);
                count += pixels[i + 3] > 60 && pixels[i + 2] > pixels[i] + 60;
              }
            }
            return count;
          };
          const x = box.left + share * box.width;
          return [blue(x - 1), blue(x - 30)];
        }""",
        612_345 / (steps - 1),
    )
    assert found[0] > 20
    assert found[1] == 0


def test_a_million_steps_of_sixty_series() -> None:
    """Time is given twice what the target says: the machine that tests has other work, and the bench measures the target."""
    run = big_run(1_000_000, 60)
    found = measure(run, flagging(run, [80_000 * place for place in range(1, 13)]), browse=False)
    assert found.size <= MAX_BYTES
    assert found.build <= 2 * MAX_BUILD


def test_the_worst_number_of_flagged_events_still_fits() -> None:
    run = big_run(100_000, 60)
    assert measure(run, flagging(run, list(range(0, 100_000, 300))), repeats=1, browse=False).size <= MAX_BYTES


def test_a_page_of_sixty_series_zooms_at_once(opened: Open) -> None:
    """The targets are 1 s and 100 ms; three times that here, for a machine that does other things meanwhile."""
    run = big_run(1_000_000, 60)
    page = opened(run, document=flagging(run, [500_000]))
    assert float(page.locator("html").get_attribute("data-ready") or "nan") <= 3_000
    page.locator("#panel-loss").scroll_into_view_if_needed()
    drawn: list[float] = []
    for _ in range(5):
        page.locator("#go-in").click()
        settled(page)
        drawn.append(float(page.locator("html").get_attribute("data-draw-ms") or "nan"))
    assert min(drawn) <= 300
