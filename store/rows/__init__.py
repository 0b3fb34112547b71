"""The rows of each table: written from models and read back."""
