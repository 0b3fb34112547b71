"""What pictures of a schedule show, as tables and numbers: nothing here draws."""
