"""The records that AMemGym's stages make, and the rows of its tables."""
