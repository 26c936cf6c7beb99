"""The measurements, figures and page of AMemGym's quality report."""
