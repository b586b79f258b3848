"""The rules as data: cards, actions, phases, and `Rules` with all decisions."""
