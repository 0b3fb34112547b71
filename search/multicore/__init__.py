"""Several cores: split networks, cost nodes on cores, allocate, schedule."""
