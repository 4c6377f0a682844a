"""What formats are made of: texts of properties, trees with lines, settings in them, images, and a format as a record."""
