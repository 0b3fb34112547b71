"""What arrays cost that compute in memory."""
