"""The memory that a process takes on a GPU, counted as epochbench counts its own: what the driver says is in use, less what was
in use before the model was made. Caches, fragments and captured graphs count, which PyTorch's own counters leave out.

Standard library only.
"""


class DeviceMemory:
    def __init__(self, cuda):
        """cuda: torch.cuda, in a process whose libraries have their handles and which holds no model yet."""
        self.cuda = cuda
        self.before = self.in_use() - cuda.memory_reserved()  # what PyTorch's allocator holds by now is part of the run
        self.compiled = 0

    def in_use(self):
        free, total = self.cuda.mem_get_info()
        return total - free

    def note_compiled(self):
        self.compiled = self.in_use() - self.before

    def peak_bytes(self):
        """The larger of now and after compiling, as in src/worker/case_server.cpp."""
        return max(self.in_use() - self.before, self.compiled, 0)
