"""The command `prove` and those below it, each with its program; and the options that they share."""
