"""Files of exported environments; they run where the export is, and import nothing of this program."""
