"""What people are shown of a game: all of it is made from what a seat may know.

| module | holds |
|---|---|
| `seat_view` | the table as a seat, or a spectator, sees it: plain dicts |
| `narration` | the events of a round as a seat saw them, in sentences |
| `prompts` | what the seat to act is asked, by phase |
| `text`, `picture`, `window` | the table as text, as a picture, in a window |
| `modes` | the render modes of the environments |
"""
