"""Match equity: the chance of each seat to win the match, at given scores."""
