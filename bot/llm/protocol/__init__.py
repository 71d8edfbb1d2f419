"""Message format between MetaAgent and models: type, version, payload. Code is sent separately."""
