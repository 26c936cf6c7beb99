"""What must hold: rules per stage, the asset checks derived from them, and the quality report."""

import warnings

import dagster as dg

# Checks by partition are a preview in Dagster. Its exact version is pinned for that reason, so the warning tells nothing.
warnings.filterwarnings("ignore", category=dg.PreviewWarning)
