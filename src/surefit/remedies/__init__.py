"""Changes to the user's source that mend a violation: each knows its edit and its words."""
