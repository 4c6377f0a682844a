"""What a validation of a cluster's logs found, in the terminal and as a document."""
