"""BERT with its masked-language-model head, for a Python without transformers: parameters named as Hugging Face's
BertForMaskedLM names them, attention by PyTorch's scaled_dot_product_attention. No pooler, no padding mask."""

from torch import arange, nn, zeros
from torch.nn import functional


class Embeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocabulary, config.width)
        self.position_embeddings = nn.Embedding(config.positions, config.width)
        self.token_type_embeddings = nn.Embedding(2, config.width)
        self.LayerNorm = nn.LayerNorm(config.width, eps=config.epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, ids):  # [batch, sequence]
        positions = arange(ids.shape[1], device=ids.device)
        x = self.word_embeddings(ids) + self.position_embeddings(positions) + self.token_type_embeddings.weight[0]
        return self.dropout(self.LayerNorm(x))


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.query, self.key, self.value = (nn.Linear(config.width, config.width) for _ in range(3))

    def forward(self, x):  # [batch, sequence, width]
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        y = functional.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)
        return y.transpose(1, 2).flatten(-2)


class Output(nn.Module):
    """Projection, dropout, shortcut, layer norm."""

    def __init__(self, config, inputs):
        super().__init__()
        self.dense = nn.Linear(inputs, config.width)
        self.LayerNorm = nn.LayerNorm(config.width, eps=config.epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, shortcut):
        return self.LayerNorm(self.dropout(self.dense(x)) + shortcut)


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = nn.ModuleDict({"self": SelfAttention(config), "output": Output(config, config.width)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(config.width, 4 * config.width)})
        self.output = Output(config, 4 * config.width)

    def forward(self, x):
        x = self.attention["output"](self.attention["self"](x), x)
        return self.output(functional.gelu(self.intermediate["dense"](x)), x)


class Body(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(config) for _ in range(config.layers))})

    def forward(self, input_ids):
        x = self.embeddings(input_ids)
        for layer in self.encoder["layer"]:
            x = layer(x)
        return (x,)


class Predictions(nn.Module):
    def __init__(self, config, embedding):
        super().__init__()
        self.transform = nn.ModuleDict({"dense": nn.Linear(config.width, config.width),
                                        "LayerNorm": nn.LayerNorm(config.width, eps=config.epsilon)})
        self.bias = nn.Parameter(zeros(config.vocabulary))
        self.decoder = nn.Linear(config.width, config.vocabulary)
        self.decoder.weight, self.decoder.bias = embedding.weight, self.bias  # tied, and one bias under two names

    def forward(self, x):
        return self.decoder(self.transform["LayerNorm"](functional.gelu(self.transform["dense"](x))))


class Head(nn.Module):
    def __init__(self, config, embedding):
        super().__init__()
        self.predictions = Predictions(config, embedding)

    def forward(self, x):
        return self.predictions(x)


class Bert(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = Body(config)
        self.cls = Head(config, self.bert.embeddings.word_embeddings)
        self.apply(draw)


def draw(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
