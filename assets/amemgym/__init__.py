"""The benchmark AMemGym: its stages in order, their records, and the tables of a release."""
