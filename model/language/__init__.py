"""What protocols are written in: typed values, states, quantifiers, labelled guards, actions.

Floor 2.
"""
