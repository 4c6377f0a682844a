"""What the protocol is: the expression language, typed state, actions, and each protocol.

Floor 2.
"""
