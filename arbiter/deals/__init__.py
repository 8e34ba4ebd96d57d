"""Verifiable deals from a deal seed, and seatings."""
