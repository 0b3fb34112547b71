"""Pages of the documentation that say what the program does: held against what it does."""
