"""A model and its bytes: the file, what it says, and a start from an old one."""
