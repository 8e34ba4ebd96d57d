"""A tournament service for bots that play Hearts: library, arbiter and contestant's SDK."""

__version__ = "0.1.0"
