"""What all programs share: names, streams, exit codes (`program`); progress, help (`progress`)."""
