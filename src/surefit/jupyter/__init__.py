"""surefit in a notebook: `%load_ext surefit`."""
