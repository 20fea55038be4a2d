"""DynamoDB on this machine: one dynoxide engine, shared by all processes of a GREENROOM_HOME."""
