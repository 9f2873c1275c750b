"""The error that the library raises for input it cannot use."""


class InputError(ValueError):
    """An input is wrong; the message contains what was found and what is accepted.

    Parameters
    ----------
    message
        What was found, where, and what is accepted; it names no command, because Python programs show it too.
    hint
        The name of a remedy, such as ``"make_dataset"``, for which a user interface adds its own instructions. None
        if there is none.
    value
        The name or path that the instructions contain, if they contain one.
    """

    def __init__(self, message: str, *, hint: str | None = None, value: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.value = value
