"""Findings as one line each, for editors and `grep`."""

from surefit.doctor.findings import Finding

from .visible import in_part, visible


def line(finding: Finding) -> str:
    """`place: severity rule-name: headline`, on one line however the headline was written."""
    headline = " ".join(finding.headline.split())
    return visible(
        f"{in_part(str(finding.place))}: {finding.severity} {finding.rule}: {in_part(headline)}"
    )
