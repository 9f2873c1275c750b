"""The one error that means: what was given cannot be used."""


class InputError(ValueError):
    """Something a user gave is wrong; the message says what was found and what is accepted.

    Parameters
    ----------
    message
        What was found, where, and what is accepted, in words that fit a Python program and a command alike.
    hint
        The name of a way out, for a program with an interface of its own, which adds how to take it there:
        ``"make_dataset"``. None if there is none.
    value
        What the hint is about, if it needs a value: a name, a path.
    """

    def __init__(self, message: str, *, hint: str | None = None, value: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.value = value
