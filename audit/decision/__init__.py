"""From settings to answers: what is asked of the model, what it answered, and what would change the answer.

Floor 2.
"""
