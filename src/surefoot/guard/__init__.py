"""Guards: any ranker made safe from outside, by what its baseline says, with a certificate if asked for."""
