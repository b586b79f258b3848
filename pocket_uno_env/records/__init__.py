"""Games as names: snapshots, and records that hold every random outcome."""
