"""What is computed once more after a step."""

import ast

from surefit.remedies.computed_again import computed_again, first_detached
from surefit.source.patches import patched
from surefit.source.reading import Source

GAN = """\
for real in loader:
    fake = netG(noise)
    score = netD(fake)
    loss_d = bce(netD(real), ones) + bce(score, zeros)
    loss_g = bce(score, ones)
    loss_d.backward(retain_graph=True)
    optD.step()
    loss_g.backward()
    optG.step()
"""


def statement(source: Source, line: int) -> ast.stmt:
    found = source.statement_at(line)
    assert found is not None
    return found


def test_what_follows_from_it_and_is_used_later_comes_again() -> None:
    source = Source("train.py", GAN)
    result = computed_again(source, statement(source, 3), statement(source, 7))
    assert result is not None
    lines = patched(result[0], source.text).splitlines()
    assert lines[6:9] == [
        "    optD.step()",
        "    score = netD(fake)",
        "    loss_g = bce(score, ones)",
    ]


def test_the_first_is_detached_and_its_graph_not_retained() -> None:
    source = Source("train.py", GAN)
    result = first_detached(source, statement(source, 3), statement(source, 7))
    assert result is not None
    lines = patched(result[0], source.text).splitlines()
    assert lines[2] == "    score = netD(fake.detach())"
    assert lines[5] == "    loss_d.backward()"


def test_what_nothing_reads_later_is_not_computed_again() -> None:
    source = Source("train.py", GAN.replace("    loss_g.backward()\n", "    print(1)\n"))
    assert computed_again(source, statement(source, 3), statement(source, 7)) is None
