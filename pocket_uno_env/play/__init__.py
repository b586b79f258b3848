"""Playing, looking at games and asking agents for advice: programs for people.

| module | holds |
|---|---|
| `table` | a table with people and agents: rounds or a match, one decision at a time |
| `guarded` | an agent whose faults harm nobody: safe to share, its errors in one form |
| `estimate` | the chance to win after each action, by guesses of the hidden cards |
| `analysis` | what an agent makes of a decision, as plain dicts |
| `terminal` | a game in the terminal |
| `program` | ``pocket-uno play``: in the terminal or in the browser |
| `film` | ``pocket-uno replay``: a record as a page to step through |
| `advise` | ``pocket-uno advise``: the actions in a position, ranked |
| `web` | the server of the page, and the page |
"""
