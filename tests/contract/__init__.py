"""What all implementations of one interface have to obey."""
