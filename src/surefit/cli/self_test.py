"""`surefit check --self-test`."""

from dataclasses import asdict

from surefit.render import console, outcome


def self_test() -> int:
    """Tells each try as it is done, and what did not hold as findings."""
    from surefit.train import self_test as tries

    done = []
    for tried in tries.self_test():
        console.say(str(tried))
        done.append(tried)
    failed = [tries.finding(tried) for tried in done if not tried.held]
    console.say(f"{len(done) - len(failed)} of {len(done)} hold")
    outcome.add_part("self_test", [asdict(tried) for tried in done])
    outcome.tell(*failed)
    return int(bool(failed))
