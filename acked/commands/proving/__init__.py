"""The programs behind `acked prove`, a module each, and which of its options go together."""
