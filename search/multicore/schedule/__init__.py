"""The scheduler: when every node runs and every tensor is sent."""
