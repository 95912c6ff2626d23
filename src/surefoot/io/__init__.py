"""From files to runs, judgments and scores. Nothing in here computes risk."""
