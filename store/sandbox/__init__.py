"""The sandbox for untrusted SQL, and processes with limits for what may crash."""
