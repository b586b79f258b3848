"""Play, replay and advice in the browser: a server for this machine, and its page.

| module | holds |
|---|---|
| `messages` | what a page may say to the server, checked field by field |
| `hall` | tables, who sits where, and what each seat is told; no network |
| `doors` | whom the server answers |
| `pages` | an open page, as the server knows it |
| `threads` | work in threads, beside the event loop |
| `server` | the web application |
| `serve` | runs it until it is stopped |
| `page/` | the page: plain HTML, CSS and JavaScript |
"""
