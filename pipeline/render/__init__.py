"""Models and numbers as text, pictures and files."""
