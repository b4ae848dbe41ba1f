"""How the job ended + the clean-up policy → the launcher's last word to its workers."""

from __future__ import annotations

from mpiboot.model.outcome import Outcome
from mpiboot.plan.release import Over

ALWAYS, ON_SUCCESS, NEVER = "always", "on-success", "never"


def last_word(outcome: Outcome, workers_leave: str, *, failure_is_final: bool) -> Over:
    """Tell workers whether to leave, to wait for the retry grace, or to stay.

    Args:
        outcome: of the last attempt.
        workers_leave: `always`, `on-success` or `never`.
        failure_is_final: whether nobody will start the launcher again; no: as `on-success`.
    """
    stay = workers_leave == NEVER
    failed_for_good = failure_is_final and workers_leave == ALWAYS
    final = not stay and (outcome.code == 0 or failed_for_good)
    return Over(code=outcome.code, final=final, ran=outcome.ran, stay=stay)
