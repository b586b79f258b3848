"""Agents that search: guesses of the hidden cards, and what wins by playing them out."""
