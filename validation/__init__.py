"""Rules per stage, the asset checks derived from them, and the quality report."""
