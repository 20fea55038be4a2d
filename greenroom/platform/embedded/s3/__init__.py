"""S3 on this machine: one SeaweedFS engine, shared by all processes of a GREENROOM_HOME."""
