"""The embedded demo: a search task made of the standard library's docstrings, rankers for it, and their comparison."""
