"""Replies to the prompts of AMemGym's stages, gates and audits, one module per stage."""
