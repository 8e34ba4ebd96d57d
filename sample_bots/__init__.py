"""Small bots, each a lesson in one thing."""
