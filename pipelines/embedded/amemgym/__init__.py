"""Replies to the prompts of AMemGym's stages, gates, audits and annotations, one module per stage."""
