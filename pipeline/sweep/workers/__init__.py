"""Workers that explore designs: threads, processes, clusters."""
