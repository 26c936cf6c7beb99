"""Words, languages and checks of style: text itself, for every benchmark."""
