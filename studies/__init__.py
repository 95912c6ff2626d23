"""Studies of the tests and intervals on simulated collections, whose truth is known."""
