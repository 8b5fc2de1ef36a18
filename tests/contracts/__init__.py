"""What ports promise, kept by memory and by real servers, which end with the folder."""
