"""Large values, addressed by their hash, in a local folder or an S3 bucket."""
