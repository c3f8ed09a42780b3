"""What the demo on one machine and the installer for a site share."""
