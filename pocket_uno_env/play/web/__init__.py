"""Play, replay and advice in the browser: a server for this machine, and its page."""
