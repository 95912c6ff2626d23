"""Why did they lose? Groups of queries, in words, that carry the loss: found on one half, confirmed on the other."""
