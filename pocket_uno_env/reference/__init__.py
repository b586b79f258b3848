"""An independent implementation of the rules, which checks the engine and records of games.

Nothing here imports the engine, so that no fault can hide in both.

| module | holds |
|---|---|
| `game` | one round in plain Python, written from docs/rules.md alone |
| `record_format` | what a record is: fields, types and bounds |
| `referee` | plays a record again and names what is wrong |
| `commands` | ``pocket-uno check`` and ``pocket-uno show`` |
"""
