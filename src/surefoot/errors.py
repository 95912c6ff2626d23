"""Errors that the user can correct, and helpers for their messages."""

from collections.abc import Iterable


class SurefootError(Exception):
    """An error that the user can correct; the message is one line that says what was wrong and what to do."""


class InputError(SurefootError):
    """A file that is not in the expected format.

    >>> print(InputError("a.run", "expected a number as the score, found 'x'", line=3))
    a.run:3: expected a number as the score, found 'x'
    """

    def __init__(self, path: object, message: str, line: int | None = None) -> None:
        self.path, self.message, self.line = str(path), message, line
        super().__init__(self.path, message, line)

    def __str__(self) -> str:
        location = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{location}: {self.message}"


class UnknownNameError(SurefootError, KeyError):
    """A name that does not exist, for code that expects a KeyError."""

    def __str__(self) -> str:
        return str(self.args[0])


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """The known name that is nearest to an unknown one, in brackets for a message; empty if none is near.

    >>> did_you_mean("indriCSAP", ["indriCASP", "uogTrA44xi"]), did_you_mean("bm25", ["dense"])
    (' (did you mean indriCASP?)', '')
    >>> did_you_mean("--base", ["--bayes", "--baseline"]), did_you_mean("--candidate", ["--duplicates"])
    (' (did you mean --baseline?)', '')
    >>> did_you_mean("runs/BM25.run", ["BM25", "dense"])
    ' (did you mean BM25?)'
    """
    from difflib import get_close_matches

    wanted = str(name).lower().lstrip("-").rpartition("/")[2]  # the path of a run, instead of its name
    names = {str(other).lower().lstrip("-"): str(other) for other in known}
    longer = [other for other in names if wanted and other.startswith(wanted)]
    near = sorted(longer, key=len)[:1] or get_close_matches(wanted, names, n=1)
    return f" (did you mean {listed([names[near[0]]])}?)" if near else ""


def listed(names: Iterable[object], most: int = 10) -> str:
    """Names for a message, at most ``most`` of them; what can't be printed in one line is escaped.

    >>> listed(range(12), most=3)
    '0, 1, 2 and 9 more'
    """
    texts = [text if text.isprintable() else repr(text)[1:-1] for text in map(str, names)]
    if len(texts) <= most:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])} and {len(texts) - most} more"


def counted(number: int, thing: str) -> str:
    """A number and its noun, for a message.

    >>> counted(1, "topic"), counted(2, "topic"), counted(2, "query"), counted(0, "loss")
    ('1 topic', '2 topics', '2 queries', '0 losses')
    """
    if number == 1:
        return f"{number:,} {thing}"
    plural = f"{thing[:-1]}ies" if thing.endswith("ry") else f"{thing}es" if thing.endswith("s") else f"{thing}s"
    return f"{number:,} {plural}"


def choose(option: str, allowed: Iterable[str], what: str) -> str:
    """Return an option if it is allowed; otherwise the error lists the allowed ones.

    >>> choose("zero", ["error", "zero", "drop"], "missing")
    'zero'
    """
    options = list(allowed)
    if option not in options:
        hint = did_you_mean(option, options)
        raise SurefootError(f"{what} must be one of {', '.join(options)}; got {option!r}{hint}")
    return option
