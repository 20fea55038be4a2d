"""REST endpoints of threads, messages, the inbox, jobs and blocks, under `/v1`."""
