"""Names of measures as the evaluation tools write them: ``ndcg_cut_10`` and ``nDCG@10`` are one measure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from surefoot.effectiveness.measures import canonical as canonical
from surefoot.errors import SurefootError, did_you_mean, listed

KNOWN = frozenset(
    "ap ndcg p r rr err rbp success rprec bpref judged infap gm_map compat setp setr setf set_map iprec 11pt_avg "
    "iprec_at_recall utility alpha_ndcg err_ia nerr_ia nrbp ap_ia map_ia p_ia strec relstring relative_p rndcg "
    "numret numrel numrelret numq num_q num_ret num_rel num_rel_ret".split()
)


def looks_like_measure(name: str) -> bool:
    """Whether a name is that of a measure that evaluation tools print.

    >>> [looks_like_measure(word) for word in ("map", "P@10", "nDCG(dcg='exp-log2')@20", "151")]
    [True, True, True, False]
    """
    return re.split(r"[(@]", canonical(name))[0] in KNOWN


def find_measure(wanted: str | None, present: Sequence[str], gdeval: bool = False) -> int:
    """The index of a measure among those present; if none is wanted there must be only one.

    gdeval calls nDCG with the gain 2^grade - 1 just ndcg, so in its output that matches the full name.

    >>> find_measure("AP", ["ndcg_cut_10", "map"])
    1
    """
    if wanted is None:
        if len(present) == 1:
            return 0
        raise SurefootError(f"there are {len(present)} measures; name one of {listed(present, most=40)}")
    if wanted in present:
        return present.index(wanted)
    names = [canonical(name) for name in present]
    if gdeval:
        names = [re.sub("^ndcg@", "ndcg(dcg='exp-log2')@", name) for name in names]
    matches = [index for index, name in enumerate(names) if name == canonical(wanted)]
    if len(matches) == 1:
        return matches[0]
    missing = f"no measure {wanted!r}{'' if gdeval else did_you_mean(wanted, present)}"
    problem = missing if not matches else f"more than one measure is called like {wanted!r}"
    hint = " (gdeval's ndcg is nDCG(dcg='exp-log2'))" if gdeval else ""
    raise SurefootError(f"{problem}; there are {listed(present, most=40)}{hint}")
