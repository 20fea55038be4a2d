"""What messaging on DynamoDB costs a month: measured units, a dated price table, and the seed's own
estimate beside them."""
