"""The commands about what real clusters log: how they are told to, and whether it is a behaviour of the model."""
