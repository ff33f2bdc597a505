"""GPT-2 with its head, for a Python without transformers: parameters named and shaped as Hugging Face's GPT2LMHeadModel has
them, attention by PyTorch's scaled_dot_product_attention."""

import math

from torch import addmm, arange, empty, nn, zeros
from torch.nn import functional


class Conv1D(nn.Module):
    """A linear layer whose weight is [inputs, outputs]."""

    def __init__(self, outputs, inputs, deviation=0.02):
        super().__init__()
        self.weight = nn.Parameter(empty(inputs, outputs).normal_(std=deviation))
        self.bias = nn.Parameter(zeros(outputs))

    def forward(self, x):
        return addmm(self.bias, x.flatten(0, -2), self.weight).unflatten(0, x.shape[:-1])


class Attention(nn.Module):
    def __init__(self, config, deviation):
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.c_attn = Conv1D(3 * config.width, config.width)
        self.c_proj = Conv1D(config.width, config.width, deviation)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x):  # [batch, sequence, width]
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=-1))
        y = functional.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).flatten(-2)))


class Mlp(nn.Module):
    def __init__(self, config, deviation):
        super().__init__()
        self.c_fc = Conv1D(4 * config.width, config.width)
        self.c_proj = Conv1D(config.width, 4 * config.width, deviation)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh")))


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        deviation = 0.02 / math.sqrt(2 * config.layers)
        self.ln_1, self.ln_2 = (nn.LayerNorm(config.width, eps=config.epsilon) for _ in range(2))
        self.attn, self.mlp = Attention(config, deviation), Mlp(config, deviation)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(config.vocabulary, config.width),
            "wpe": nn.Embedding(config.positions, config.width),
            "drop": nn.Dropout(config.dropout),
            "h": nn.ModuleList(Layer(config) for _ in range(config.layers)),
            "ln_f": nn.LayerNorm(config.width, eps=config.epsilon)})
        for name in ("wte", "wpe"):
            nn.init.normal_(self.transformer[name].weight, std=0.02)
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, input_ids):
        parts = self.transformer
        x = parts["drop"](parts["wte"](input_ids) + parts["wpe"](arange(input_ids.shape[1], device=input_ids.device)))
        for layer in parts["h"]:
            x = layer(x)
        return (self.lm_head(parts["ln_f"](x)),)
