"""The slow, obvious game in plain Python and the referee of records; nothing of the engine."""
