"""What ends the client, and its exit codes."""

from __future__ import annotations

EXIT_CONFIGURATION = 2
EXIT_ENDPOINT = 3
EXIT_INTEGRITY = 4


class ClientError(Exception):
    """Ends the client: its message is the last line on standard error."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def refused(where: str, why: str) -> ClientError:
    """A configuration that this client cannot carry out."""
    return ClientError(EXIT_CONFIGURATION, f"{where}: {why}")


def message_of(error: BaseException) -> str:
    """The first line of what went wrong."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
