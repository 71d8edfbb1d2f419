"""Large values by their own hash: in a local folder, or in a store that speaks S3."""
