"""The game in OpenSpiel, with explicit chance nodes.

`game` registers ``python_pocket_uno`` and loads it; `bots` has OpenSpiel's bots as agents, and
agents as its bots and policies. Both need OpenSpiel. The round as an immutable history (`history`,
`deals`, `events`, `kernels`) does not.
"""
