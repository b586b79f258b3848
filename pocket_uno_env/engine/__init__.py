"""The rules of the game, compiled: rows, piles, the deal, what is legal and what happens."""
