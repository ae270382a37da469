"""The same with spawned workers, which import the script anew."""

import workers_fork

workers_fork.START = "spawn"

if __name__ == "__main__":
    workers_fork.main()
