"""What every measurement needs: a time limit, a database, an embedding endpoint, agents in processes, a report."""
