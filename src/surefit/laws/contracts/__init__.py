"""What libraries demand of what they are given: broken, it is an exception."""
