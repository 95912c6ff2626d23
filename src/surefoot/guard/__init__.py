"""Guards make any ranker safe from outside: they blend it with its baseline, with a certificate on request."""
