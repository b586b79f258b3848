"""What a seat may know, and that as a vector."""
