"""A small script with a loss to choose, and what each violates, for tests that only read it."""

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


LOSSES: list[tuple[str, list[str]]] = [
    ("F.cross_entropy(logits, tags)", ["classes last"]),
    ("F.cross_entropy(logits.transpose(1, 2), tags)", []),
    ("F.cross_entropy(logits.permute(0, 2, 1), tags)", []),
    ("F.cross_entropy(logits.flatten(0, 1), tags.flatten())", []),
    ("F.cross_entropy(logits.view(-1, CLASSES), tags.view(-1))", []),
    ("F.cross_entropy(logits, tags.view(-1))", ["flattened"]),
    ("F.cross_entropy(logits.view(-1, CLASSES), tags)", ["flattened"]),
    ("F.cross_entropy(logits[:, 0], tags[:, 0])", []),
    ("F.cross_entropy(logits[:, 0], tags[:, :1])", ["column"]),
    ("F.cross_entropy(logits[:, 0], tags[:, 0].float())", ["takes int64"]),
    ("F.cross_entropy(logits[:, 0], tags[:, 0].int())", ["takes int64"]),
    ("F.cross_entropy(logits[:, 0], tags[:, 0].to(torch.float32))", ["takes int64"]),
    ("F.cross_entropy(logits[:, 0], tags[:, 0].unsqueeze(-1))", ["column"]),
    ("F.cross_entropy(logits[:, 0], F.one_hot(tags[:, 0], CLASSES))", ["one hot"]),
    ("F.cross_entropy(logits[:, 0], F.one_hot(tags[:, 0], CLASSES).float())", []),
    ("F.cross_entropy(logits[:, 0], torch.softmax(other, -1))", []),
    ("nn.CrossEntropyLoss()(logits, tags)", ["classes last"]),
    ("F.binary_cross_entropy_with_logits(logits[:, 0], tags[:, 0])", ["indices"]),
    ("F.binary_cross_entropy_with_logits(logits[:, 0, 0], tags[:, 0])", ["takes float32"]),
    ("F.binary_cross_entropy_with_logits(logits[:, 0, 0], tags[:, 0].float())", []),
    ("F.mse_loss(logits[:, 0, :1], tags[:, 0].float())", ["square"]),
    ("F.mse_loss(nn.Linear(5, 1)(logits[:, 0]), tags[:, 0].float())", ["square"]),
    ("F.mse_loss(nn.Linear(5, 1)(logits[:, 0]).squeeze(-1), tags[:, 0].float())", []),
    ("F.mse_loss(logits, unknown)", []),
    ("F.cross_entropy(logits[:, 0], [1] * 8)", []),
]
"""A loss of `tagger`, and what its two sides violate."""
