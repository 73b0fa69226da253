"""The one base of errors that a person can mend: bad input, a refusal, a contradiction.

Their text is one sentence: what was given, what was expected, what to do. Commands print it and exit with status 2;
the window shows it in a message bar. Anything else is a fault of the program.
"""


class StudioError(ValueError):
    """Something the person at the window or the terminal can mend."""
