"""A topic on a real cluster and the steps of a story: each ends when its effect has been seen."""
