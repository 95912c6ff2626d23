"""Agreement of measures, values and systems, and the assumptions behind T_Risk, as the papers examine them."""
