"""Pictures of the real thing: programs in a real kitty on a display that nobody sees."""
