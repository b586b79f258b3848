"""What compiled code is made of: decorators and their cache, bit sets, random numbers, networks."""
