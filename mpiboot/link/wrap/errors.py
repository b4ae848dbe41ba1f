"""What keeps a program from being run as a rank."""


class CannotRunError(Exception):
    """The program was not run, or not to its own end.

    Attributes:
        code: exit code, as shells have it; 78 where the job's configuration is wrong.
        why: in two words, for the agent.

    Args:
        text: what happened, and what to change.
    """

    def __init__(self, code: int, why: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.why = why
