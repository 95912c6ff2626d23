"""Names of columns and of measures: what a column holds, and which measure a name of an evaluation tool stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from surefoot.effectiveness.measures import canonical as canonical
from surefoot.errors import SurefootError, did_you_mean, listed

Role = Literal["topic", "system", "measure", "value", "trial"]

# Where a table has two names of one role (qid beside the text of the query), the earlier in the list is taken.
NAMES: dict[Role, tuple[str, ...]] = {
    "topic": (
        *("topic", "topics", "topic_id", "topicid", "qid", "q_id", "query_id", "queryid", "query", "query_text"),
        *("item", "item_id", "example", "example_id", "sample", "sample_id", "instance_id", "question_id", "task_id"),
    ),
    "system": (
        *("system", "systems", "system_id", "run", "runs", "runid", "run_id", "run_name", "name", "tag"),
        *("snapshot_name", "model", "model_name"),
    ),
    "measure": ("measure", "measures", "metric", "metrics"),
    "value": ("value", "score"),
    "trial": ("trial", "epoch", "seed", "repeat", "replicate"),
}
DOCUMENTS = ("document", "docno", "doc_id", "corpus_id", "document_id", "docid", "did", "pid", "passage_id", "_id")
RETRIEVED = ("score", "similarity", "value")
RANKS = ("rank", "position", "doc_position")
# Columns that give the rows of a table of rankings to several systems; "name" and "tag" may be those of documents.
SYSTEMS = tuple(name for name in NAMES["system"] if name not in ("name", "tag"))
GRADES = ("grade", "relevance", "rel", "label", "rating", "judgment", "judgement", "score", "value")
_ROLES = {name: role for role, names in NAMES.items() for name in names}


def role_of(name: str) -> Role | None:
    """The role of a column of that name.

    >>> role_of("Query ID"), role_of("runid"), role_of("bm25")
    ('topic', 'system', None)
    """
    return _ROLES.get(normalise_name(name))


def find_column(columns: Sequence[str], known: Sequence[str]) -> int | None:
    """The column that has one of the known names, the earlier name before the later.

    >>> find_column(["query", "docid", "QID"], NAMES["topic"])
    2
    """
    normalised = [normalise_name(name) for name in columns]
    return next((normalised.index(name) for name in known if name in normalised), None)


def normalise_name(name: str) -> str:
    """The name of a column as lists of known names write it.

    >>> normalise_name("Query-ID ")
    'query_id'
    """
    return name.strip().lower().replace(" ", "_").replace("-", "_")


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
