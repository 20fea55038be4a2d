"""Wake-up hints between the processes of one installation."""
