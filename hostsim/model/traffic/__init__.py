"""What comes at the host from outside."""
