"""The programs behind `acked prove`, and the options that they share."""
