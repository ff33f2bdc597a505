"""One workload in PyTorch: synthetic data that is already on the device, and blocks of timed training steps.

Images are channels-last; bf16 and fp16 are autocast's, fp16 with a GradScaler; fp32 is strict, tf32 sets PyTorch's flags;
optimizers are fused. No data loading and no evaluation. PyTorch's other defaults stay: its 16-bit products may round partial
sums to 16 bits, which epochbench's never do.
"""

import contextlib
import itertools
import math
import os
import resource
import time

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend

import device_memory
import models
import optimizers

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}
FIRST_SCALE, GROWTH_INTERVAL = 65536.0, 2000  # of the GradScaler: PyTorch's defaults, and epochbench's
SYNTHETIC_BATCHES = 4  # that steps take in turn, as epochbench's do (kInputSlots)
MASK_ID = 259  # of epochbench's bytes as tokens (src/data/text.h)
PASSES_TO_COMPILE = 3  # a captured graph exists after the second pass and replays in the third


class Diverged(Exception):
    pass


def synthetic_batch(model, batch, tokens):
    """Normal images and uniform labels, or uniform ids with their targets, as in epochbench's texts: 20 of 128
    positions, eight tenths masked and one another id; the next id of each; or a class."""
    family, options = models.split_name(model)
    if family in models.BERT_SIZES:
        predictions = max(1, 20 * tokens // 128)
        ids = torch.randint(models.VOCABULARY, (batch, tokens))
        positions = torch.rand(batch, tokens).argsort(dim=1)[:, :predictions].sort(dim=1).values
        labels = ids.gather(1, positions)
        other, chance = torch.randint(models.VOCABULARY, labels.shape), torch.rand(labels.shape)
        masked = torch.where(chance < 0.8, MASK_ID, torch.where(chance < 0.9, other, labels))
        return {"input_ids": ids.scatter(1, positions, masked), "masked_positions": positions, "labels": labels}
    if family in models.LSTM_SIZES:
        sizes = models.LSTM_SIZES[family] | options
        ids = torch.randint(sizes["vocabulary"], (batch, sizes["sequence"] + 1))
        labels = torch.randint(2, (batch,)) if family == "lstm" else ids[:, 1:].contiguous()
        return {"input_ids": ids[:, :-1].contiguous(), "labels": labels}
    if family in models.GPT2_SIZES or family in models.LLAMA_SIZES:
        vocabulary = models.GPT2_VOCABULARY if family in models.GPT2_SIZES else models.LLAMA_VOCABULARY
        ids = torch.randint(options.get("vocabulary", vocabulary), (batch, tokens + 1))
        return {"input_ids": ids[:, :-1].contiguous(), "labels": ids[:, 1:].contiguous()}
    channels, size, classes = models.IMAGES.get(family, (3, 224, 1000))
    height, width = options.get("height", size), options.get("width", size)
    if family == "mlp":
        height = width = size  # its width is that of its layers
    labels = torch.randint(options.get("classes", classes), (batch,))
    return {"images": torch.randn(batch, channels, height, width), "labels": labels}


def start_libraries(device):
    """cuBLAS and cuDNN take device memory for their handles, which epochbench does not count as a run's either."""
    one = torch.ones(1, 1, 1, 1, device=device)
    torch.mm(one[0, 0], one[0, 0])
    torch.nn.functional.conv2d(one, one)
    torch.cuda.synchronize()


def set_math(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True  # the convolution algorithms are timed, as ours are


class Training:
    """case: of the case protocol (src/worker/protocol.h), with `optimizer` and, for a text, `tokens` besides its own keys."""

    def start(self, case):
        """Takes the device with its threads and precision, before anything is made on it."""
        self.device = torch.device(case["device"])
        self.on_gpu = self.device.type == "cuda"
        self.precision = case["precision"]
        if self.on_gpu:
            torch.cuda.set_device(self.device)
            start_libraries(self.device)
        else:
            torch.set_float32_matmul_precision("highest")
            torch.set_num_threads(case["threads"] or torch.get_num_threads())
        self.device_memory = device_memory.DeviceMemory(torch.cuda) if self.on_gpu else None
        self.memory_before = peak_resident_bytes()
        torch.manual_seed(case["seed"])
        set_math(self.precision)
        self.clock = "CUDA events" if self.on_gpu else "the host's clock"

    def make_ready(self, mode):
        """mode: of torch.compile, or eager."""
        self.scaler = None
        if self.precision == "fp16":
            self.scaler = torch.amp.GradScaler(self.device.type, init_scale=FIRST_SCALE, growth_interval=GROWTH_INTERVAL)
        self.taken = 0
        self.loss = self.eager_loss if mode == "eager" else torch.compile(self.eager_loss, mode=mode)
        self.compile()

    def __init__(self, case):
        self.start(case)
        self.batch = case["batch"]
        self.label_smoothing = case["label_smoothing"]
        dropout = case["dropout"] or 0.0  # null for a model without dropout
        self.model = models.build(case["model"], dropout, "sdpa")
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.attends = models.split_name(case["model"])[0] in models.ATTENTION
        self.draws_masks = dropout > 0 and models.split_name(case["model"])[0] in models.DROPOUT
        batches = [synthetic_batch(case["model"], self.batch, case.get("tokens")) for _ in range(SYNTHETIC_BATCHES)]
        layout = torch.channels_last if "images" in batches[0] else torch.contiguous_format
        self.model.to(self.device, memory_format=layout)
        for batch in batches:
            if "images" in batch:
                batch["images"] = batch["images"].contiguous(memory_format=layout)
        self.batches = itertools.cycle([{name: tensor.to(self.device) for name, tensor in batch.items()} for batch in batches])
        spec, rate = optimizers.parse(case["optimizer"])
        rate = case["learning_rate"] or rate
        if case["weight_decay"] is not None:
            spec["weight_decay"] = case["weight_decay"]
        self.optimizer_spec = spec
        self.optimizer = optimizers.make(self.model, spec, rate, fused=True)
        self.conditions = {"attention": self.attention_backend(), "clock": self.clock,
                           "memory_format": str(layout).removeprefix("torch.").removesuffix("_format")}
        self.make_ready(case["compile"])

    def autocast(self):
        half = HALF.get(self.precision)
        return torch.autocast(self.device.type, dtype=half) if half else contextlib.nullcontext()

    def eager_loss(self, batch):
        with self.autocast():
            return models.loss(self.model, batch, self.label_smoothing)

    def attention_backend(self):
        """The kernel that scaled_dot_product_attention takes in a forward pass, "flash" or "math"; None without attention."""
        taken = []
        attend = functional.scaled_dot_product_attention

        def noting(*arguments, **options):
            taken.append(torch._fused_sdp_choice(*arguments, **options))
            return attend(*arguments, **options)

        if not self.attends:
            return None
        functional.scaled_dot_product_attention = noting
        try:
            with torch.no_grad():
                self.eager_loss(next(self.batches))
        finally:
            functional.scaled_dot_product_attention = attend
        names = {int(backend): name.lower() for name, backend in SDPBackend.__members__.items()}
        return ", ".join(sorted({names[int(choice)].removesuffix("_attention") for choice in taken})) or None

    def compile(self):
        """Builds and searches for all that is needed at first use, in passes that leave the weights as they are."""
        for _ in range(PASSES_TO_COMPILE):
            self.optimizer.zero_grad(set_to_none=True)
            self.loss(next(self.batches)).backward()
        self.optimizer.zero_grad(set_to_none=True)
        self.synchronize()
        if self.device_memory:
            self.device_memory.note_compiled()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(next(self.batches))
        if self.scaler:
            self.scaler.scale(loss).backward()
            if self.optimizer_spec.get("clip_norm"):
                self.scaler.unscale_(self.optimizer)
                optimizers.clip(self.model, self.optimizer_spec)
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss.backward()
            optimizers.clip(self.model, self.optimizer_spec)
            self.optimizer.step()
        return loss.detach()

    def steps(self, count):
        """A block of steps: seconds of each by the device's clock, of all by the host's, and their losses."""
        losses = torch.empty(count, device=self.device)
        self.synchronize()
        cpu_before, faults_before, busy_before = time.process_time(), page_faults(), busy_cpu_seconds()
        begin = time.perf_counter()
        marks = [self.mark()]
        for i in range(count):
            losses[i].copy_(self.step())
            marks.append(self.mark())
        self.synchronize()
        wall = time.perf_counter() - begin
        cpu, faults, busy = time.process_time() - cpu_before, page_faults() - faults_before, busy_cpu_seconds()
        seconds = [self.between(marks[i], marks[i + 1]) for i in range(count)]
        self.taken += count
        losses = losses.tolist()
        if not all(map(math.isfinite, losses)):
            raise Diverged(f"training diverged: a loss among steps {self.taken - count} to {self.taken - 1} is not finite")
        return {"seconds": seconds, "loss": losses, "samples": count * self.batch, "data_wait_seconds": 0.0,
                "idle_seconds": 0.0, "harness_seconds": wall - sum(seconds), "wall_seconds": wall, "page_faults": faults,
                "own_cpu_seconds": cpu, "busy_cpu_seconds": None if busy is None else busy - busy_before}

    def mark(self):
        if not self.on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        return begin.elapsed_time(end) / 1000 if self.on_gpu else end - begin

    def synchronize(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def device_name(self):
        """A CPU needs none: it is the one of the machine."""
        return torch.cuda.get_device_name(self.device) if self.on_gpu else ""

    def threads(self):
        return None if self.on_gpu else torch.get_num_threads()

    def peak_bytes(self):
        return self.device_memory.peak_bytes() if self.device_memory else peak_resident_bytes() - self.memory_before

    def skipped_steps(self):
        """Each skipped step halves the scale, which first grows after GROWTH_INTERVAL steps; None where that is past."""
        if not self.scaler or self.taken >= GROWTH_INTERVAL:
            return None
        return round(math.log2(FIRST_SCALE / self.scaler.get_scale()))


def peak_resident_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def busy_cpu_seconds():
    """CPU time of all processes, plus what the host took away; None if the kernel does not report it."""
    try:
        with open("/proc/stat") as file:
            user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
