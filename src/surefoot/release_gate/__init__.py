"""The release gate: may this candidate replace the baseline? Rules, verdict, ratchet, and the file of options."""
