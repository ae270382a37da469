"""A small script whose loss can be chosen, for tests that only read it."""

from textwrap import dedent


def tagger(loss: str, forward: str = "return self.head(self.embed(words))") -> str:
    """Words in rows, and a score for each class at each word."""
    return dedent(
        f"""
        import torch
        from torch import nn
        import torch.nn.functional as F
        CLASSES = 5
        class Tagger(nn.Module):
            def __init__(self, classes=CLASSES):
                super().__init__()
                self.embed = nn.Embedding(100, 16)
                self.head = nn.Linear(16, classes)
            def forward(self, words):
                {forward}
        model = Tagger()
        words = torch.randint(0, 100, (8, 12))
        tags = words % CLASSES
        for _ in range(3):
            logits = model(words)
            loss = {loss}
            loss.backward()
        """
    )
