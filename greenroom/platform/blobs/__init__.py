"""Where the bytes of files are kept: a folder, or S3."""
