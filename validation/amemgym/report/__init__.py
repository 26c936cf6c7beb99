"""What AMemGym's quality report measures, draws and shows."""
