"""What every AWS service needs: credentials and signatures."""
