"""What all programs share: progress, help, exit codes."""
