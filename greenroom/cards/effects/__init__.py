"""What transitions of cards do: to times and legs, to money, to documents."""
