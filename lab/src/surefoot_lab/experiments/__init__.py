"""The published learning experiments, and others of their kind: each a plan, run job by job and resumable."""
