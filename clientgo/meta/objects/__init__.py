"""What an API object is: its header, its body, and the views of both."""
