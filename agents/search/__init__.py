"""Agents that search on guessed hands."""
