"""What workspaces with a canvas or with lanes share."""
