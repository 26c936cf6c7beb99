"""The reply cache of model calls and the record cache of finished items."""
