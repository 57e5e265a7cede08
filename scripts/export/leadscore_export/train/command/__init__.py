"""The command line of a training: its options, its lines of progress and its failures."""
