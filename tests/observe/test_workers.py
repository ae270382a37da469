"""The cause inside a worker, a pool or a child process is found where it was raised."""

from pathlib import Path

import pytest

from running import Ran, lines_about_surefit, observed, plainly, written
from surefit.doctor.observations import Crash, Script


def looked(tmp_path: Path, text: str, *words: str) -> Ran:
    ran = observed([written(tmp_path, script=text), *words], tmp_path)
    assert ran.code == 1, ran.err
    assert lines_about_surefit(ran.err, tmp_path) == []
    assert ran.faults == []
    return ran


LOADER = """
    import sys
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __init__(self):
            self.lengths = [3, 3, 3, 5]

        def __len__(self):
            return len(self.lengths)

        def __getitem__(self, at):
            length = self.lengths[at]
            return {"ids": [at] * length, "half": torch.zeros(6).view(length, -1)}

    def main():
        for batch in DataLoader(Rows(), batch_size=2, num_workers=2,
                                multiprocessing_context=sys.argv[1]):
            print(batch["half"].shape)

    if __name__ == "__main__":
        main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_cause_in_a_loaders_worker(start: str, tmp_path: Path) -> None:
    crash = looked(tmp_path, LOADER, start).crash
    assert crash.said == "RuntimeError: shape '[5, -1]' is invalid for input of size 6"
    frame = crash.own_frame
    assert frame is not None
    assert (str(frame.place), frame.function) == ("script.py:14", "Rows.__getitem__")
    assert frame.expression == "torch.zeros(6).view(length, -1)"
    length, this = crash.value("length"), crash.value("self")
    assert length is not None
    assert length.scalar == 5
    assert this is not None
    assert this.kind == "Rows"
    functions = [one.function for one in crash.frames if one.own]
    assert functions == ["<module>", "main", "Rows.__getitem__"]
    assert crash.process.role == "main"


@pytest.mark.slow
def test_a_workers_exception_that_the_script_handles_is_no_crash(tmp_path: Path) -> None:
    caught = "try:\n            main()\n        except RuntimeError:\n            print('handled')"
    handled = LOADER.replace("        main()\n", f"        {caught}\n")
    script = written(tmp_path, script=handled)
    ran = observed([script, "fork"], tmp_path)
    assert ran.code == 0, ran.err
    assert [crash for crash in ran.seen.all(Crash) if not crash.swallowed] == []
    (one,) = ran.swallowed
    crash = ran.seen.crash(one.crash)
    assert crash is not None
    assert crash.own_frame is not None
    assert crash.own_frame.expression == "torch.zeros(6).view(length, -1)"


POOLS = {
    "multiprocessing": """
        import multiprocessing
        def run(work, items):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                return pool.map(work, items)
    """,
    "spawned": """
        import multiprocessing
        def run(work, items):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                return pool.map(work, items)
    """,
    "executor": """
        import concurrent.futures
        def run(work, items):
            with concurrent.futures.ProcessPoolExecutor(2) as pool:
                return list(pool.map(work, items))
    """,
}
USES_A_POOL = """
    from pools import run

    def parsed(text):
        cut = text.split("=")
        return int(cut[1])

    if __name__ == "__main__":
        print(run(parsed, ["a=1", "b=2", "c"]))
"""


@pytest.mark.parametrize("pool", POOLS)
def test_cause_in_a_pool(pool: str, tmp_path: Path) -> None:
    written(tmp_path, pools=POOLS[pool])
    crash = looked(tmp_path, USES_A_POOL).crash
    assert crash.said == "IndexError: list index out of range"
    frame = crash.own_frame
    assert frame is not None
    assert (str(frame.place), frame.expression) == ("script.py:5", "cut[1]")
    cut = crash.value("cut")
    assert cut is not None
    assert cut.length == 1
    assert crash.raised_in is not None


def test_text_that_a_pool_passes_on_is_the_same(tmp_path: Path) -> None:
    written(tmp_path, pools=POOLS["multiprocessing"])
    script = written(tmp_path, script=USES_A_POOL)
    plain, ran = plainly([script], tmp_path), observed([script], tmp_path)
    assert "multiprocessing.pool.RemoteTraceback" in plain.err
    assert (ran.err, ran.out, ran.code) == (plain.err, plain.out, plain.code)


def test_a_pools_exception_that_the_script_handles_is_no_crash(tmp_path: Path) -> None:
    written(tmp_path, pools=POOLS["multiprocessing"])
    handled = """
        import multiprocessing
        def fails(at):
            return [][at]
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(1) as pool:
                results = [pool.apply_async(fails, (at,)) for at in range(3)]
                pool.close()
                pool.join()
            print([result.successful() for result in results])
    """
    ran = observed([written(tmp_path, script=handled)], tmp_path)
    assert ran.out == "[False, False, False]\n"
    assert list(ran.seen.all(Crash)) == []


@pytest.mark.slow
def test_cause_in_mapped_rows(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        from datasets import Dataset, disable_progress_bars
        disable_progress_bars()

        def parsed(row):
            cut = row["text"].split("=")
            return {"value": int(cut[1])}

        if __name__ == "__main__":
            rows = Dataset.from_dict({"text": ["a=1", "b=2", "c=3", "d"]})
            rows.map(parsed, num_proc=2)
        """,
    ).crash
    assert crash.kind == "IndexError"
    frame = crash.own_frame
    assert frame is not None
    assert (str(frame.place), frame.expression) == ("script.py:6", "cut[1]")
    assert frame.function == "parsed"


PROCESS = """
    import multiprocessing, sys

    def child(rows):
        return rows["absent"]

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        process = context.Process(target=child, args=({"present": 1},), name="one")
        process.start()
        process.join()
        sys.exit(process.exitcode)
"""


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_cause_in_a_process_of_its_own(start: str, tmp_path: Path) -> None:
    ran = looked(tmp_path, PROCESS, start)
    assert ran.crash.said == "KeyError: 'absent'"
    assert ran.crash.process.role == "child"
    rows = ran.crash.value("rows")
    assert rows is not None
    assert list(rows.members) == ["present"]
    plain = plainly(["script.py", start], tmp_path)
    assert ran.err == plain.err.replace('"script.py"', f'"{tmp_path}/script.py"')


@pytest.mark.slow
def test_cause_in_a_process_that_torch_has_spawned(tmp_path: Path) -> None:
    ran = observed(
        [
            written(
                tmp_path,
                script="""
                    import os
                    import torch
                    import torch.distributed as dist
                    import torch.multiprocessing as mp

                    def train(rank, folder):
                        store = dist.FileStore(os.path.join(folder, "store"), 2)
                        dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
                        dist.barrier()
                        width = 3 if rank == 1 else 4
                        torch.ones(2, width) @ torch.ones(4, 1)
                        dist.barrier()

                    if __name__ == "__main__":
                        mp.spawn(train, args=(os.getcwd(),), nprocs=2)
                """,
            )
        ],
        tmp_path,
    )
    assert ran.code == 1
    assert lines_about_surefit(ran.err, tmp_path) == []
    crashes = sorted(ran.seen.all(Crash), key=lambda crash: crash.at)
    first, last = crashes[0], crashes[-1]
    assert first.kind == "RuntimeError"
    assert (first.process.role, first.process.rank, first.process.world) == ("rank", 1, 2)
    assert first.own_frame is not None
    assert first.own_frame.expression == "torch.ones(2, width) @ torch.ones(4, 1)"
    assert last.kind == "torch.multiprocessing.spawn.ProcessRaisedException"
    assert last.process.role == "main"


def test_spawned_workers_count_what_the_script_swallows(tmp_path: Path) -> None:
    ran = observed(
        [
            written(
                tmp_path,
                script="""
                    import multiprocessing

                    def parsed(text):
                        try:
                            return int(text)
                        except ValueError:
                            return -1

                    if __name__ == "__main__":
                        with multiprocessing.get_context("spawn").Pool(1) as pool:
                            print(pool.map(parsed, ["1", "x", "y"]))
                            pool.close()
                            pool.join()
                """,
            )
        ],
        tmp_path,
    )
    assert ran.out == "[1, -1, -1]\n", ran.err
    (one,) = ran.swallowed
    assert (one.times, one.entries, one.process.role) == (2, 3, "child")
    (script,) = ran.seen.all(Script)
    assert (script.file, script.main) == ("script.py", True)


AGAIN = """
    import multiprocessing

    def job():
        pass

    child = multiprocessing.get_context("spawn").Process(target=job)
    child.start()
    child.join()
    raise RuntimeError(f"the child ended with {child.exitcode}")
"""


def test_a_process_that_runs_the_script_again_is_looked_into(tmp_path: Path) -> None:
    ran = looked(tmp_path, AGAIN)
    crashes = [one for one in ran.seen.all(Crash) if one.frames[-1].own is False]
    assert [one.frames[-1].function for one in crashes] == ["_check_not_importing_main"]
    assert [str(one.place) for one in crashes[0].frames if one.own] == ["script.py:7"]
