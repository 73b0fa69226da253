"""The frame of the window: places, menus, actions, files, help."""
