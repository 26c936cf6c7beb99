"""The JSON shape of the paper's repository: episodes to `data.json` and back."""
