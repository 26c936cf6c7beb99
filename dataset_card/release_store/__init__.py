"""The releases of all variants: each compared with the last one, given a version, written as a folder, found again."""
