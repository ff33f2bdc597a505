"""Llama with its head, for a Python without transformers: parameters named and shaped as Hugging Face's LlamaForCausalLM has
them, attention by PyTorch's scaled_dot_product_attention."""

from torch import arange, cat, nn, ones, rsqrt
from torch.nn import functional


class RmsNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(ones(config.width)), config.epsilon

    def forward(self, x):
        return x * rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight


def rotated(x):
    """x [batch, heads, sequence, width]: a pair is a column of the first half and the same column of the second."""
    width = x.shape[-1]
    frequencies = 10000.0 ** (-arange(0, width, 2, device=x.device) / width)
    angles = arange(x.shape[-2], device=x.device)[:, None] * frequencies
    first, second = x.chunk(2, dim=-1)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.width = config.width // config.heads
        self.q_proj = nn.Linear(config.width, config.width, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(config.width, config.kv_heads * self.width, bias=False) for _ in range(2))
        self.o_proj = nn.Linear(config.width, config.width, bias=False)

    def forward(self, x):  # [batch, sequence, width]
        q, k, v = (layer(x).unflatten(-1, (-1, self.width)).transpose(1, 2)
                   for layer in (self.q_proj, self.k_proj, self.v_proj))
        group = q.shape[1] // k.shape[1]
        k, v = (part.repeat_interleave(group, dim=1) for part in (rotated(k), v))
        y = functional.scaled_dot_product_attention(rotated(q), k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(-2))


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(config.width, config.hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn, self.mlp = Attention(config), Mlp(config)
        self.input_layernorm, self.post_attention_layernorm = RmsNorm(config), RmsNorm(config)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = nn.ModuleDict({"embed_tokens": nn.Embedding(config.vocabulary, config.width),
                                    "layers": nn.ModuleList(Layer(config) for _ in range(config.layers)),
                                    "norm": RmsNorm(config)})
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
        if config.tied:
            self.lm_head.weight = self.model["embed_tokens"].weight

    def forward(self, input_ids):
        x = self.model["embed_tokens"](input_ids)
        for layer in self.model["layers"]:
            x = layer(x)
        return (self.lm_head(self.model["norm"](x)),)
