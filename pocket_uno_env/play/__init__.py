"""The programs to play and look with."""
