"""Labels followed back from the loss through the user's source."""

import pytest

from recorded_losses import FILE, LossCrash, tensor
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.evidence.failed_losses import failed_loss
from surefit.evidence.label_sources import label_steps

DICT = """
    class Rows(Dataset):
        def __init__(self, table):
            self.kinds = table["kind"].values
        def __getitem__(self, row):
            item = {"x": self.x[row]}
            item["y"] = torch.tensor(self.kinds[row])
            return item
    import torch
    for number, batch in enumerate(tqdm(loader)):
        batch = {key: one.to(device) for key, one in batch.items()}
        loss = criterion(model(batch["x"]), batch["y"].long())
    """
PAIR = """
    from torch.utils.data import TensorDataset
    loader = DataLoader(TensorDataset(x, marks))
    for batch in loader:
        a, b = [one.to(device) for one in batch]
        loss = criterion(model(a), b)
    """
COLLATED = """
    def stacked(rows):
        return {"x": stack(rows, 0), "y": stack(rows, 1)}
    class Rows(Dataset):
        def __getitem__(self, row):
            return read(row)
    loader = DataLoader(Rows(), collate_fn=stacked)
    for batch in loader:
        loss = criterion(model(batch["x"]), batch["y"])
    """
SLICED = """
    labels = read("labels")
    for begin in range(0, 64, 8):
        loss = criterion(model(x[begin : begin + 8]), labels[begin : begin + 8])
    """
UNCLEAR = """
    class Rows(Dataset):
        def __getitem__(self, row):
            return self.x[row], self.y[row]
    class Others(Dataset):
        def __getitem__(self, row):
            return read(row)
    for x, y in loader:
        loss = criterion(model(x), y)
    """


def steps(text: str) -> list[tuple[str, str]]:
    one = LossCrash(text, tensor("out", (8, 3)), tensor("target", (8,), "int64"))
    seen = Recording([Script(FILE, one.text), one.crash])
    loss = failed_loss(one.crash, seen)
    assert loss is not None
    return [(step.of, step.text) for step in label_steps(one.crash, loss, seen)]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        (
            DICT,
            [
                ("batch", 'batch["y"].long()'),
                ("batch", 'batch["y"]'),
                ("row", "torch.tensor(self.kinds[row])"),
                ("row", "self.kinds[row]"),
                ("column", "self.kinds"),
                ("column", 'table["kind"].values'),
            ],
        ),
        (PAIR, [("batch", "b"), ("column", "marks")]),
        (COLLATED, [("batch", 'batch["y"]'), ("collated", "stack(rows, 1)")]),
        (
            SLICED,
            [
                ("batch", "labels[begin : begin + 8]"),
                ("column", "labels"),
                ("column", 'read("labels")'),
            ],
        ),
        (UNCLEAR, [("batch", "y")]),
    ],
    ids=["dict", "pair", "collated", "sliced", "unclear"],
)
def test_the_way_back(text: str, last: list[tuple[str, str]]) -> None:
    assert steps(text) == last
