"""Parts of sentences about files that cannot be used."""

#: Cure for a file that is not as it was planned.
RESTORE = "put the file back as it was, or start over with another --state"


def one_line(error: BaseException) -> str:
    """An error's text as part of a sentence."""
    return " ".join(str(error).split()) or type(error).__name__
