"""Agents by rule: compiled policies, from random play to the strong heuristic."""
