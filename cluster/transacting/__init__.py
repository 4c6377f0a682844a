"""How `transactions` is played: which runs can be, the driver with a step for every action, what is compared, and what is
decided of its promises.

Floor 6.
"""
