"""The paper's memory implementations (section 4.1), and how others plug in."""
