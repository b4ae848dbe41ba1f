"""The fault matrix, once: every cell for Open MPI 5, a choice of them for the others."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.helpers.faultpage import Run
from tests.helpers.faultruns import once
from tests.helpers.faults import BY_NAME, MATRIX, STACKS, THIN

pytestmark = [pytest.mark.docker, pytest.mark.timeout(400)]

# Most of a cell is waiting, and much of the rest is the start of containers.
SIDE_BY_SIDE = 4
FULL = "openmpi5"
CELLS = [(FULL, cell.name) for cell in MATRIX] + [
    (stack, name) for stack in STACKS if stack != FULL for name in THIN
]
Runs = dict[tuple[str, str], "Future[Run]"]


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    """Begin all cells that were asked for, some at a time, in networks of their own."""
    wanted = [
        (str(item.callspec.params["stack"]), str(item.callspec.params["name"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    ]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        begun = {(stack, name): pool.submit(once, stack, BY_NAME[name]) for stack, name in wanted}
        yield begun
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize(("stack", "name"), CELLS)
def test_a_fault_is_told_as_it_is(runs: Runs, stack: str, name: str) -> None:
    """Code, class, host and rank are right, in time; nothing is left, and workers leave as they must."""
    run = runs[stack, name].result()
    print(run.logs)  # noqa: T201 - shown where the test fails
    assert run.wrong == []
