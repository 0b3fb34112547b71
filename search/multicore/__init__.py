"""Several cores: splits networks, costs nodes on cores, allocates and schedules them."""
