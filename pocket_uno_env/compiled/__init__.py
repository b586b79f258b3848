"""What compiled code is made of: the decorator and its cache, bit sets, random numbers, layers."""
