"""Small parts that several workspaces use."""
