"""The cost of arrays that compute in memory."""
