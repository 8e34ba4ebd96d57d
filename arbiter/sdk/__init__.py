"""What a contestant imports."""
