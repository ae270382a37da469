"""What can be asked of the frames of a crash: one file each, with a function `answer`."""
