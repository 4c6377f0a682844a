"""Where a state lies: the layout of its leaves, stores of their codes, and the access to structs, arrays and logs in one."""
