"""Agents by rule: compiled policies and their faces."""
