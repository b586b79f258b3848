"""The game in OpenSpiel, with explicit chance nodes."""
