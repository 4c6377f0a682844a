"""The commands that write states, traces and answers for other tools: files, pictures, tables, a site."""
