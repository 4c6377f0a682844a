"""Whether what a real cluster's logs say is a behaviour of `partition`: events, what each may be in the model, the search
for an order and a behaviour, the promises on the way.

Floor 1.
"""
