"""A bot at the other end: a caged process, or one in this process."""
