"""The atlas: the losses of rankers of every family, on public runs.

Protocol, written before any of its tables was made.

- All collections, runs, families, first stages and baselines are in ``atlas.toml``; every run that is there is
  shown. The measure is nDCG@10 of trec_eval, unjudged documents counting 0; BM25 is the run named ``bm25`` there.
- **Families** have the mean over their runs of each topic's loss and gain; intervals are percentiles of 10,000
  bootstrap draws of topics, the same for all runs, so they hold for other topics, not for other systems.
- **Does risk shrink as models get better?** Kendall's tau between mean and F_Risk against BM25, over all runs that
  are not lexical and have a mean above BM25's, with a bootstrap over topics. F_Risk is F_Reward less the gain, so
  that some of this is arithmetic: beside it is the tau that is left once F_Risk is reduced by what the same gain
  would give if all runs had the same spread of differences, the pooled one around each run's mean.
- **Which queries do LLM rerankers hurt?** How few topics carry half of their loss, how far the rerankers of one
  first stage agree on them (against topics shuffled independently for each, 10,000 times), and `surefoot.explain`
  for each of them.
- **Which losses are real?** Losses against the first stage that no grade of an unjudged document can undo, that each
  further assessor sees too where there are any, and that are credible (`surefoot.credibility`, 90 %).
- **Guards**: `surefoot.guard.fit_guard_to_runs` with all defaults, row ``chosen``: nested cross-validation, as in the
  study of guards. Nothing is tuned here. Pairs that it refuses are named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from studies.atlas import pairs, rerankers, risk
from studies.atlas.collections import load_collections
from surefoot.results import Result


def tables(scale: int = 1) -> Iterator[tuple[str, Result]]:
    """The tables of the atlas for all collections on this machine; with a scale above 1, only of the first one."""
    atlas, missing = load_collections()
    atlas = atlas[:1] if scale > 1 else atlas
    for line in missing:
        print(f"left out: {line}", file=sys.stderr)
    yield "Published and recomputed means", risk.official_means(atlas)
    yield "Every run against BM25 and against its first stage", risk.run_risks(atlas)
    yield "Risk by family", risk.family_risks(atlas)
    yield "Does risk shrink as models get better?", risk.trend(atlas)
    yield "Do rerankers hurt the same queries?", rerankers.shared_losses(atlas)
    yield "LLM rerankers and cross-encoders", rerankers.contrast(atlas)
    yield "The topics that LLM rerankers hurt most", rerankers.worst_topics(atlas)
    yield "Groups of queries that carry the loss", rerankers.explained(atlas)
    doubts = pairs.doubted_pairs(atlas)
    yield "Which losses survive?", doubts
    yield "Which losses survive, by family", pairs.doubted_families(doubts, atlas)
    yield "Losses and wins by their size", pairs.by_size(atlas)
    guards = pairs.guarded_pairs(atlas)
    yield "Before and after a guard", guards
    yield "Before and after a guard, by family", pairs.guarded_families(guards, atlas)
