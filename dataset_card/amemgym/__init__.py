"""AMemGym's release: card, plots, Croissant, the reference format, errata."""
