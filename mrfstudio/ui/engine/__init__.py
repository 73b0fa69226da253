"""The way to the engine: controller, mailbox, and the one file that knows threads."""
