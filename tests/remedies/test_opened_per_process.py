"""The call that opens a handle, in terms of `self`."""

from surefit.remedies.opened_per_process import renamed


def test_names_become_attributes_and_the_rest_stays() -> None:
    text = 'ZipFile(path, "r", strict=mode)  '
    assert renamed(text, {"path": "self.path", "mode": "self.kind"}) == (
        'ZipFile(self.path, "r", strict=self.kind)  '
    )


def test_an_attribute_of_the_same_name_stays() -> None:
    assert renamed("open(root.path / path)", {"path": "self.at"}) == "open(root.path / self.at)"
