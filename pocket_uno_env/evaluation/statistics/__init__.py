"""Estimates, intervals, tests, ratings."""
