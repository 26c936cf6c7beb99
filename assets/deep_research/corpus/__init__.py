"""Real documents: read from a folder or Parquet, cut into sections, and renamed through one registry."""
