"""An invented team that works with a package: its people, services and agreements, none of which the code holds."""
