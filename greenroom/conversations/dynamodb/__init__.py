"""The conversation store on DynamoDB: items, changes, reads, upkeep."""
