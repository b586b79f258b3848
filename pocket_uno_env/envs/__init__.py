"""The game behind the interfaces of other libraries."""
