"""What containers use: readings, and what comes of two of them."""

from __future__ import annotations

import os
import time

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model import usage
from mpiboot.model.usage import Gpu, Usage
from mpiboot.plan.metering import Meter
from mpiboot.runtime.usage import Table

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def test_a_usage_survives_the_link() -> None:
    """What one side writes the other one reads."""
    gpu = Gpu(
        index=0, name="A100", busy_percent=93, memory_bytes=1 << 30, memory_total_bytes=2 << 30
    )
    said = Usage(
        at_s=1000.5, cpu_ms=70, memory_bytes=5, limit_bytes=None, ranks={3: (60, 4)}, gpus=(gpu,)
    )
    assert usage.read({**said.to_json(), "time_ms": 1_000_500}) == said


@given(st.dictionaries(st.sampled_from(["time_ms", "cpu_ms", "memory", "ranks", "gpus"]), JSON))
def test_whatever_a_worker_says_is_bounded(body: dict[str, object]) -> None:
    """Nonsense is left out, and never raises."""
    said = usage.read(body)
    assert said is None or (said.cpu_ms >= 0 and len(said.ranks) <= usage.MOST_RANKS)


def test_nvidia_smi_is_read_also_where_it_does_not_know() -> None:
    """A field that it does not support is unknown, a line of another form is no GPU."""
    text = "0, NVIDIA A100-SXM4-40GB, 93, 1024, 40960\n1, Tesla M60, [N/A], 3, 8192\nno devices\n"
    first, second = usage.gpus_of(text)
    assert first == Gpu(
        index=0, name="NVIDIA A100-SXM4-40GB", busy_percent=93,
        memory_bytes=1 << 30, memory_total_bytes=40 << 30,
    )  # fmt: skip
    assert (second.busy_percent, second.memory_bytes) == (None, 3 << 20)


def test_two_readings_tell_how_busy_it_is() -> None:
    """1.5 s of CPU time in one second are 150 percent; the first reading tells nothing."""
    meter = Meter()
    meter.take(Usage(at_s=10.0, cpu_ms=1000, ranks={0: (500, 1)}))
    first = meter.reading
    assert first is not None
    assert first.cpu_percent is None
    meter.take(Usage(at_s=11.0, cpu_ms=2500, ranks={0: (1250, 1), 1: (10, 1)}))
    told = meter.reading
    assert told is not None
    assert (told.cpu_percent, told.ranks_percent) == (150.0, {0: 75.0})


def test_a_reading_that_comes_too_soon_changes_nothing() -> None:
    """Two lookers make two questions: a hundredth of a second would tell of the kernel's ticks."""
    meter = Meter()
    for at_s, cpu_ms in ((10.0, 0), (11.0, 500), (11.01, 510)):
        meter.take(Usage(at_s=at_s, cpu_ms=cpu_ms))
    assert meter.reading is not None
    assert meter.reading.cpu_percent == 50.0


def test_a_clock_that_is_set_back_or_a_sum_that_falls_is_no_negative_load() -> None:
    """Processes that ended unseen take their time with them."""
    meter = Meter()
    meter.take(Usage(at_s=10.0, cpu_ms=1000))
    meter.take(Usage(at_s=11.0, cpu_ms=400))
    assert meter.reading is not None
    assert meter.reading.cpu_percent == 0.0
    meter.take(Usage(at_s=5.0, cpu_ms=500))
    assert meter.reading.cpu_percent is None


def test_a_process_counts_with_all_below_it() -> None:
    """Our own tree is there, has used time and memory, and no more than all processes."""
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    table = Table()
    own = table.used(os.getpid())
    assert own is not None
    assert own[0] >= 40
    assert 1 << 20 < own[1] <= table.all_used()[1]
    assert table.used(1 << 30) is None
