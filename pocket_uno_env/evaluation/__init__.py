"""Matched games between agents, and what can be said from them."""
