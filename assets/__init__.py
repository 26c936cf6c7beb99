"""What is made: records, the recipe, seeded chance, the stages and their Dagster assets."""
