"""Fine-tuning by surefit and by its peers, each in a process of its own, with one way to count."""
