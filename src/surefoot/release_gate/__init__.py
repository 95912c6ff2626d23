"""The release gate: may this candidate replace the baseline? Rules, checks, verdict, ratchet and configuration file."""
