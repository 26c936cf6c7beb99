"""The measurements and page of AMemGym's quality report."""
