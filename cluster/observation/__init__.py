"""Whether what a cluster's own logs say is a behaviour of `partition`."""
