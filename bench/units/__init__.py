"""What each operation of the DynamoDB store consumes, item by item."""
