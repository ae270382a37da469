"""Loading feature arrays by surefit and by its peers, each in a process of its own."""
