"""Requests: everything that defines a computation, so that a stored result is reused for the same request only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import InputError
from surefoot.io.atomic import digest_of
from surefoot.results import plain

Request = Mapping[str, Any]
KEY_SIZE = 12


def normalise_request(request: Request) -> dict[str, Any]:
    """The request as JSON holds it, which is how it compares with one that was read from a file.

    >>> normalise_request({"alphas": (0, 1.5)})
    {'alphas': [0, 1.5]}
    """
    return dict(json.loads(json.dumps(plain(request))))


def request_text(request: Request) -> str:
    """The canonical JSON text of a request."""
    return json.dumps(plain(request), sort_keys=True)


def request_key(request: Request) -> str:
    """The hash of a request, under which its result is stored.

    >>> request_key({"alpha": 1.0}) == request_key({"alpha": 1.0}), request_key({"alpha": 1.0}) == request_key({})
    (True, False)
    """
    return digest_of(request_text(request), KEY_SIZE)


def array_key(values: npt.NDArray[Any]) -> str:
    """The hash of an array, which stands for it in a request."""
    return digest_of(np.ascontiguousarray(values).tobytes(), KEY_SIZE)


def refuse_other_request(path: object, stored: Request, expected: Request, advice: str) -> None:
    """Raise an error that names the fields in which a stored request differs from the expected one.

    >>> refuse_other_request("model", {"alpha": 1, "seed": 0}, {"alpha": 2, "seed": 0}, "name another folder")
    Traceback (most recent call last):
    surefoot.errors.InputError: model: belongs to a training with another alpha; name another folder
    """
    other = [name for name in sorted({*expected, *stored}) if expected.get(name) != stored.get(name)]
    if other:
        raise InputError(path, f"belongs to a training with another {', '.join(other)}; {advice}")
