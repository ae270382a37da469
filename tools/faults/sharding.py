"""Models sharded by FSDP on processors, where accelerate would leave them whole."""

from collections.abc import Callable

from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils import DistributedType


def sharding(make: Callable[[str], Accelerator]) -> Callable[[str], Accelerator]:
    """accelerate leaves its FSDP plugin alone without a GPU; here it is made to use it."""

    def make_sharding(precision: str) -> Accelerator:
        accelerator = make(precision)
        accelerator.state.fsdp_plugin = FullyShardedDataParallelPlugin(
            fsdp_version=2,
            auto_wrap_policy="transformer_based_wrap",
            cpu_ram_efficient_loading=False,
        )
        accelerator.state.distributed_type = DistributedType.FSDP
        return accelerator

    return make_sharding
