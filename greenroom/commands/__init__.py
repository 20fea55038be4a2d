"""What the commands of `greenroom` do. A module is loaded when one of its commands is called."""
