"""The atlas: what rankers of every family cost the queries that they make worse, on public runs.

Protocol, written before any of its tables was made.

- All collections, runs, families, first stages and baselines are in ``atlas.toml``; every run that is there is
  shown. The measure is nDCG@10 of trec_eval, unjudged documents counting 0; BM25 is the run named ``bm25`` there.
- **Families** have the mean over their runs of each topic's loss and gain; intervals are percentiles of 10,000
  bootstrap draws of topics, the same for all runs, so they tell of other topics, not of other systems.
- **Does risk shrink as models get better?** Kendall's tau between mean and F_Risk against BM25, over all runs that
  are not lexical and have a mean above BM25's, with a bootstrap over topics. F_Risk is F_Reward less the gain, so
  that some of this is arithmetic: beside it is the tau that is left once F_Risk is reduced by what the same gain
  would give if all runs had the same spread of differences, the pooled one around each run's mean.
- **Which queries do LLM rerankers hurt?** How few topics carry half of their loss, how far the rerankers of one
  first stage agree on them (against topics shuffled independently for each, 10,000 times), and `surefoot.explain`
  for each of them.
- **Which losses are real?** Losses against the first stage that no grade of an unjudged document can undo, that each
  further assessor sees too where there are any, and that are credible (`surefoot.credibility`, 90 %).
- **Guards**: `surefoot.fit_guard_to_runs` with all defaults, the row ``chosen``: nested cross-validation, as in the
  study of guards. Nothing is tuned here. Pairs that it refuses are named.
"""
