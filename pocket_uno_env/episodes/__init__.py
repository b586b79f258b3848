"""What an episode is: a round or a match, from which scores it starts, what it pays."""
