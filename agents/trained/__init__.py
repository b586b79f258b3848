"""Agents that were trained."""
