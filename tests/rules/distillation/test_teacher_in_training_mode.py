"""Teachers whose targets are noise, in scripts of many forms, and models that only look like it."""

from pathlib import Path

import pytest

from running import forked_run
from teaching_scripts import script

RULE = "teacher-in-training-mode"

BAD = {
    "functions": """
        def train(student, teacher, steps):
            optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
            for _ in range(steps):
                with torch.no_grad():
                    wanted = teacher(x)
                loss = 0.5 * F.cross_entropy(student(x), y) + divergence(student(x), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        def main():
            big = net(32)
            train(net(8), big, 4)

        main()
    """,
    "a model that holds it": """
        class Distiller(nn.Module):
            def __init__(self):
                super().__init__()
                self.teacher = net(32)
                self.student = net(8)
                self.teacher.requires_grad_(False)
                self.teacher.eval()

            def forward(self, rows):
                with torch.no_grad():
                    wanted = self.teacher(rows)
                return divergence(self.student(rows), wanted)

        distiller = Distiller()
        optimizer = torch.optim.Adam(distiller.student.parameters(), lr=1e-2)
        for _ in range(4):
            distiller.train()
            loss = distiller(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "detached": """
        teacher, student = net(32), net(8)
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
        for _ in range(4):
            loss = F.mse_loss(student(x), teacher(x).detach())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "frozen, by hand": """
        teacher, student = net(32).requires_grad_(False), net(8)
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
        for _ in range(4):
            soft = torch.softmax(teacher(x) / 2, dim=-1)
            logs = torch.log_softmax(student(x) / 2, dim=-1)
            loss = -(soft * logs).sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "trained here": """
        def fit(model, steps, teacher=None):
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            for _ in range(steps):
                loss = F.cross_entropy(model(x), y)
                if teacher is not None:
                    with torch.no_grad():
                        wanted = teacher(x)
                    loss = loss + divergence(model(x), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return model

        teacher = fit(net(32), 6)
        student = fit(net(8), 12, teacher)
    """,
    "batch norm": """
        def normed(width):
            return nn.Sequential(nn.Linear(6, width), nn.BatchNorm1d(width), nn.Linear(width, 5))

        teacher, student = normed(32), normed(8)
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
        for _ in range(4):
            with torch.no_grad():
                wanted = teacher(x)
            loss = divergence(student(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "a class that trains": """
        class Distillation:
            def __init__(self, teacher, student):
                self.teacher, self.student = teacher, student
                self.optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)

            def targets(self, rows):
                with torch.no_grad():
                    return self.teacher(rows)

            def step(self, rows):
                loss = divergence(self.student(rows), self.targets(rows))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

        run = Distillation(net(32), net(8))
        for _ in range(4):
            run.step(x)
    """,
}

GOOD = {
    "a moving average": """
        student = net(8)
        teacher = copy.deepcopy(student).requires_grad_(False)
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
        for _ in range(6):
            with torch.no_grad():
                wanted = teacher(x)
            loss = F.cross_entropy(student(x), y) + F.mse_loss(student(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for old, new in zip(teacher.parameters(), student.parameters()):
                old.data.mul_(0.99).add_(new.data, alpha=0.01)
    """,
    "the body under a head": """
        body, head = net(32), nn.Linear(5, 5)
        optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
        for _ in range(4):
            with torch.no_grad():
                features = body(x)
            loss = F.cross_entropy(head(features), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "a frozen body in the model": """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = net(32), nn.Linear(5, 5)

            def forward(self, rows):
                with torch.no_grad():
                    features = self.body(rows)
                return self.head(features)

        model = Model()
        optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
        for _ in range(4):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "nothing random in it": """
        teacher, student = net(32, dropout=0.0), net(8)
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
        for _ in range(4):
            with torch.no_grad():
                wanted = teacher(x)
            loss = divergence(student(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "set by name": """
        teacher, student = net(32), net(8)
        teacher.train()
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
        for _ in range(4):
            with torch.no_grad():
                wanted = teacher(x)
            loss = divergence(student(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "one model": """
        def main():
            model = net(8)
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            for _ in range(4):
                with torch.no_grad():
                    wanted = model(x)
                loss = F.cross_entropy(model(x), y) + divergence(model(x), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        main()
    """,
    "a judge": """
        judge, model = net(32).requires_grad_(False), nn.Linear(6, 6)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(4):
            made = model(x)
            loss = F.mse_loss(judge(made), torch.zeros(16, 5))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "two that teach each other": """
        one, other = net(8), net(8)
        optimizers = [torch.optim.Adam(model.parameters(), lr=1e-2) for model in (one, other)]
        for _ in range(4):
            turns = (one, other, optimizers[0]), (other, one, optimizers[1])
            for student, peer, optimizer in turns:
                with torch.no_grad():
                    wanted = peer(x)
                loss = F.cross_entropy(student(x), y) + divergence(student(x), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "trained here and evaluated": """
        def fit(model, steps, teacher=None):
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            for _ in range(steps):
                loss = F.cross_entropy(model(x), y)
                if teacher is not None:
                    loss = loss + divergence(model(x), teacher(x))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return model

        teacher = fit(net(32), 6).eval().requires_grad_(False)
        student = fit(net(8), 12, teacher)
        with torch.no_grad():
            print(F.cross_entropy(student(x), y).item())
    """,
}


def told(body: str, folder: Path) -> list[dict[str, object]]:
    (folder / "train.py").write_text(script(body), encoding="utf-8")
    ran = forked_run(["train.py"], folder, ["--no-proof"])
    assert ran.document["not_observed"] == [], ran.err
    assert ran.document["ended"]["exception"] is None, ran.err
    return ran.document["findings"]  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize("form", BAD)
def test_a_noisy_teacher_is_named(form: str, tmp_path: Path) -> None:
    (finding,) = told(BAD[form], tmp_path)
    assert finding["rule"] == RULE


@pytest.mark.slow
@pytest.mark.parametrize("form", GOOD)
def test_what_only_looks_like_one_gets_no_word(form: str, tmp_path: Path) -> None:
    assert told(GOOD[form], tmp_path) == []
