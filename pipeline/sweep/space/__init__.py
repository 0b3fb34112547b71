"""Design spaces with their inputs read and checked: the accelerators of designs."""
