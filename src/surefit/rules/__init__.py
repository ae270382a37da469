"""One file for each known fault, in folders by where data is when it strikes."""
