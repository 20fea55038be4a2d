"""`greenroom cost`: what messaging on DynamoDB costs a month, from measured capacity units and a
dated price table, compared with a rough estimate of a simpler service."""
