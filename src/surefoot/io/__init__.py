"""From files to runs, judgements and scores. Nothing in here computes risk."""
