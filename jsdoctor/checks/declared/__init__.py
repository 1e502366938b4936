"""What checks of manifests share: what cannot be judged, what is there already, what servers refuse and delete."""
