"""The error of a program that cannot start."""


class StartupError(Exception):
    """The program cannot start for a reason outside of it, such as a database that is away.

    The message is one line for the person who starts it: what is wrong and what to do next. It is
    printed or logged without a stack and contains no password.
    """
