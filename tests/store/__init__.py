"""The store, tested on real databases with real threads and processes."""
