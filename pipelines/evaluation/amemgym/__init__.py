"""AMemGym's evaluation: its episodes, dialogues on-policy, interviews after each period, and where wrong answers were lost."""
