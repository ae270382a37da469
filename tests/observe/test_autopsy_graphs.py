"""Graphs of autograd as they are left: freed, kept, written to."""

import torch

from surefit.observe.inside.autopsy.graphs import changed_since, is_freed, is_leaf, nodes_below


def test_a_backward_pass_frees_what_functions_kept() -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x.exp() * x).sum()
    nodes = [node for node in nodes_below([loss.grad_fn]) if not is_leaf(node)]
    assert not any(is_freed(node) for node in nodes)
    loss.backward()
    assert [node.name() for node in nodes if is_freed(node)] == ["MulBackward0", "ExpBackward0"]


def test_what_was_written_to_since_is_found() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    kept = y.grad_fn
    assert changed_since(kept) == []
    y += 1
    ((name, tensor),) = changed_since(kept)
    assert name == "_saved_result"
    assert tensor.tolist() == y.tolist()


def test_leaves_are_told_from_functions() -> None:
    x = torch.ones(3, requires_grad=True)
    nodes = list(nodes_below([(x * 2).grad_fn]))
    assert [is_leaf(node) for node in nodes] == [False, True]
