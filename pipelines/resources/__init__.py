"""What stands behind the ports: model adapter, call cache, snapshot store, work store."""
