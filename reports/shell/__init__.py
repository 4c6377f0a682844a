"""What the commands of every application share: options and output, specs and runs by name, engines, completion.

Floor 3.
"""
