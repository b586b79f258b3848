"""What people see of a game: text, pictures, windows."""
