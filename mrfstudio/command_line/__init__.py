"""One file a command: its options, the call, what it prints. Nothing here imports torch or Qt before a command runs."""
